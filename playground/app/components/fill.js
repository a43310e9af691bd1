// Fill order: one row a line of working memory, its tokens as a bar, and the line where the size was used up.

function buildFill(state, data) {
  const head = element("header");
  head.setAttribute("aria-hidden", "true"); // each row's label says the same in words
  for (const [name, text] of [["name", "Line"], ["tokens", "Tokens"], ["tokens", "Total"], ["why", "Reason"]]) {
    if (text === "Tokens") head.append(element("span", "track"));
    head.append(element("span", name, text));
  }
  state.root.append(head);
  data.rows.forEach((row, at) => {
    if (at === data.cut) state.root.append(cutLine(data.cutLabel));
    state.root.append(fillRow(state, row));
  });
  if (!data.rows.length) state.root.append(element("p", "empty", "No line is offered."));
}

function cutLine(label) {
  const node = element("div", "cut");
  node.setAttribute("role", "presentation");
  node.append(element("span", "", label));
  return node;
}

function fillRow(state, row) {
  const label = `${row.kind}, ${row.title}, ${row.tokens} tokens, ${row.selected ? "total " : "left out, "}${row.total}, ${row.reason}`;
  const node = keyed(state, element("div", row.selected ? "line in" : "line out"), row.key, label);
  const name = element("span", "name", row.title);
  name.title = [row.title, row.kind].join("\n");
  const track = element("span", "track");
  const bar = element("span", `filled ${row.slot}`);
  bar.style.width = `${100 * row.width}%`;
  track.append(bar);
  const why = element("span", "why");
  why.append(element("i", `chip ${row.selected ? row.reason : "excluded"}`, row.reason));
  node.append(kindBar(row.slot, false), name, track, element("span", "tokens", row.tokens));
  node.append(element("span", "tokens total", row.total), why);
  return node;
}

export default function (component) {
  return showPane(component, { name: "fill", role: "listbox", label: "Fill order", build: buildFill });
}
