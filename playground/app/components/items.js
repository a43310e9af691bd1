// Working memory: one section a list, one row an item; the arrow keys step through them.

function buildItems(state, data) {
  for (const group of data.groups) state.root.append(itemGroup(state, group));
}

function itemGroup(state, group) {
  const section = element("section");
  section.setAttribute("role", "group");
  section.setAttribute("aria-label", [group.title, group.total].filter(Boolean).join(", "));
  const head = element("header");
  head.append(element("b", "", group.title), element("span", "total", group.total));
  section.append(head, ...group.rows.map((row) => itemRow(state, row)));
  if (!group.rows.length) section.append(element("p", "none", group.empty));
  return section;
}

function itemRow(state, row) {
  const said = [row.badge, row.text, row.writer, row.decided, row.revision].filter(Boolean).join(", ");
  const node = keyed(state, element("div", "item"), row.key, said);
  node.append(kindBar(row.slot, false));
  node.append(element("i", row.badge ? `chip ${row.active ? "mandatory" : ""}` : "", row.badge));
  const name = element("span", "name", row.text);
  name.title = row.text;
  node.append(name, element("i", row.decided ? "chip excluded" : "", row.decided));
  node.append(element("span", "writer", row.writer), element("span", "revision", row.number));
  return node;
}

export default function (component) {
  return showPane(component, { name: "items", role: "listbox", label: "Working memory items", build: buildItems });
}
