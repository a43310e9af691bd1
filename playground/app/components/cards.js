// Selected blocks: one card a record, grouped by kind, the excluded ones folded in at the end.

function buildCards(state, data) {
  const { root } = state;
  if (!data.groups.length) root.append(element("p", "empty", "No record is in the request."));
  for (const group of data.groups) root.append(cardGroup(state, group));
  if (data.excludedTotal) root.append(excludedDetails(state, data));
}

function cardGroup(state, group) {
  const section = element("section");
  section.setAttribute("role", "group");
  section.setAttribute("aria-label", `${group.name}, ${group.total}`);
  const head = element("header");
  head.append(element("i", `dot ${group.slot}`), element("b", "", group.name), element("span", "total", group.total));
  section.append(head, ...group.cards.map((card) => recordCard(state, card)));
  return section;
}

function recordCard(state, card) {
  const label = [card.title || card.body, `${card.tokens} tokens`, card.reason, card.source].join(", ");
  const node = keyed(state, element("article", card.title ? "card" : "card plain"), card.key, label);
  node.append(kindBar(card.slot, card.reason === "reallocated"));
  const side = element("span", "score", card.score ? `score ${card.score}` : card.reason);
  if (card.title) {
    node.append(element("b", "title", card.title), tokenCount(card.tokens));
    node.append(element("span", "source", card.source), side, element("p", "body", card.body));
  } else {
    node.append(element("p", "body", card.body), tokenCount(card.tokens));
    node.append(element("span", "source", card.source), side);
  }
  return node;
}

function excludedDetails(state, data) {
  const details = element("details");
  const summary = element("summary");
  summary.append(element("i", "dot excluded"), element("b", "", "Excluded"));
  summary.append(element("span", "total", data.excludedTotal));
  details.append(summary, ...data.excluded.map((row) => excludedRow(state, row)));
  if (data.excludedMore) details.append(element("p", "more", data.excludedMore));
  return details;
}

function excludedRow(state, row) {
  const label = `${row.title}, ${row.tokens} tokens, excluded: ${row.reason}`;
  const node = keyed(state, element("div", "line"), row.key, label);
  node.title = [row.title, row.source].filter(Boolean).join("\n");
  node.append(element("span", "name", row.title), element("span", "tokens", row.tokens));
  node.append(element("span", "why", row.reason));
  return node;
}

// The selected record may lie past the cut of the excluded list: it is then shown below the list.
function markBeyond(state, data) {
  for (const node of state.root.querySelectorAll(".beyond")) {
    state.items.delete(node.dataset.key);
    if (state.active === node) state.active = null;
    node.remove();
  }
  if (!data.beyond || state.items.has(data.beyond.key)) return;
  const node = excludedRow(state, data.beyond);
  node.id = "item-beyond";
  node.classList.add("beyond");
  state.root.querySelector("details").append(node);
}

export default function (component) {
  return showPane(component, {
    name: "cards", role: "listbox", label: "Selected blocks", build: buildCards, mark: markBeyond,
  });
}
