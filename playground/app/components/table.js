// A table of records: a click or an arrow key marks a row, a click on a column's name sorts. One row is always marked.

const COLUMN_GAP = 10; // px, as in the style sheet
const EDGES = 20; // px beside the columns
const ROW_HEIGHT = 28; // px, as in the style sheet
const STRETCH = 50; // rows that are laid out together

function buildTable(state, data) {
  const { root } = state;
  const widths = data.columns.map(({ width, grows }) => (grows ? `minmax(${width}px, ${width}fr)` : `${width}px`));
  const least = data.columns.reduce((sum, { width }) => sum + width + COLUMN_GAP, EDGES - COLUMN_GAP);
  root.setAttribute("aria-label", data.label);
  root.style.setProperty("--columns", widths.join(" "));
  root.style.setProperty("--least", `${least}px`);
  const names = data.columns.map(({ name }) => name).join("\n");
  if (state.names !== names) state.sort = null; // another table in the same place
  state.names = names;
  const head = element("header");
  head.setAttribute("role", "presentation");
  state.heads = data.columns.map(({ name, numeric }, at) => {
    const button = element("button", numeric ? "number" : "", name);
    button.type = "button";
    button.addEventListener("click", () => {
      state.sort = nextSort(state.sort, at, numeric);
      sortRows(state, data);
    });
    return button;
  });
  head.append(...state.heads);
  root.append(head);
  state.nodes = data.rows.map((row) => tableRow(state, data.columns, row));
  state.stretches = [];
  for (let at = 0; at < data.rows.length; at += STRETCH) {
    const stretch = element("div", "stretch");
    stretch.setAttribute("role", "presentation");
    stretch.style.setProperty("--height", `${ROW_HEIGHT * Math.min(STRETCH, data.rows.length - at)}px`);
    state.stretches.push(stretch);
  }
  root.append(...state.stretches);
  sortRows(state, data);
}

function tableRow(state, columns, row) {
  const said = row.cells.map((text, at) => (text ? `${columns[at].name}: ${text}` : "")).filter(Boolean);
  const node = keyed(state, element("div", `row ${row.slot}`), row.key, said.join(", "));
  if (row.slot) node.append(kindBar(row.slot, row.half));
  row.cells.forEach((text, at) => {
    const { numeric, chip } = columns[at];
    const cell = element("span", numeric ? "number" : "name");
    if (chip) cell.append(element("i", `chip ${row.slot === "excluded" ? row.slot : text}`, text));
    else cell.textContent = text;
    if (!numeric && text) cell.title = text;
    node.append(cell);
  });
  return node;
}

// Numbers begin with the largest, words with the first; a third click gives the first order back.
function nextSort(sort, column, numeric) {
  if (!sort || sort.column !== column) return { column, up: !numeric, first: true };
  return sort.first ? { column, up: !sort.up, first: false } : null;
}

// Equal rows keep their first order, whichever way; what has no number comes last.
function sortRows(state, data) {
  const { sort } = state;
  const order = data.rows.map((_, at) => at);
  if (sort) {
    const { numeric } = data.columns[sort.column];
    const values = data.rows.map(({ cells, values }) =>
      numeric ? values[sort.column] : cells[sort.column].toLowerCase(),
    );
    const sign = sort.up ? 1 : -1;
    order.sort((a, b) => {
      const [x, y] = [values[a], values[b]];
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return sign * ((x > y) - (x < y)) || a - b;
    });
  }
  state.heads.forEach((button, at) => {
    const here = Boolean(sort && sort.column === at);
    button.classList.toggle("sorted", here);
    button.classList.toggle("up", here && sort.up);
    const way = here ? (sort.up ? ", now ascending" : ", now descending") : "";
    button.setAttribute("aria-label", `Sort by ${data.columns[at].name}${way}`);
  });
  state.items = new Map(order.map((at) => [data.rows[at].key, state.nodes[at]])); // the arrow keys follow it
  state.stretches.forEach((stretch, at) => {
    stretch.append(...order.slice(STRETCH * at, STRETCH * (at + 1)).map((row) => state.nodes[row]));
  });
}

export default function (component) {
  return showPane(component, { name: "table", role: "listbox", label: "Table", build: buildTable, required: true });
}
