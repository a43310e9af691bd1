// Manifest: one row an entry; the arrow keys step through what the filter shows.

function buildManifest(state, data) {
  const { root } = state;
  const head = element("header");
  head.setAttribute("aria-hidden", "true"); // each row's label says the same in words
  for (const [name, text] of [["name", "Record"], ["score", "Score"], ["tokens", "Tokens"], ["why", "Reason"]]) {
    head.append(element("span", name, text));
  }
  root.append(head, ...data.rows.map((row) => manifestRow(state, row)));
  state.empty = element("p", "empty");
  root.append(state.empty);
}

function manifestRow(state, row) {
  const score = row.score ? `, score ${row.score}` : "";
  const label = `${row.title}${score}, ${row.tokens} tokens, ${row.selected ? "" : "excluded: "}${row.reason}`;
  const node = keyed(state, element("div", row.selected ? "row in" : "row out"), row.key, label);
  const name = element("span", "name", row.title);
  name.title = [row.title, row.source].filter(Boolean).join("\n");
  const chip = element("i", `chip ${row.selected ? row.reason : "excluded"}`, row.reason);
  const why = element("span", "why");
  why.append(chip);
  node.append(kindBar(row.slot, row.reason === "reallocated"), name);
  node.append(element("span", "score", row.score), element("span", "tokens", row.tokens), why);
  return node;
}

const NOTHING = {
  all: "No record was offered.",
  selected: "No record was selected.",
  excluded: "Nothing was left out.",
};

function markShown(state, data) {
  state.root.dataset.show = data.show;
  const hidden = { all: "", selected: "out", excluded: "in" }[data.show];
  const shown = data.rows.some((row) => hidden !== (row.selected ? "in" : "out"));
  state.empty.textContent = shown ? "" : NOTHING[data.show];
  state.empty.hidden = shown;
}

export default function (component) {
  return showPane(component, {
    name: "manifest", role: "listbox", label: "Manifest", build: buildManifest, mark: markShown,
  });
}
