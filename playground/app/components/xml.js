// Rendered XML: exactly the text of the blocks, one division a record and in it one a line.

function buildXml(state, data) {
  const { root } = state;
  state.note = element("p", "note");
  state.note.setAttribute("role", "status");
  root.append(state.note, copyButton(data));
  if (!data.records.length) root.append(element("p", "empty", "Nothing is added to the request."));
  for (const record of data.records) {
    const node = element("div", record.key ? `record ${record.slot}` : "frame");
    if (record.key) {
      keyed(state, node, record.key);
      node.append(kindBar(record.slot, record.half));
    }
    appendLines(node, record.pieces);
    root.append(node);
  }
}

// What wraps is indented below its own line: a run of blanks cannot make the rest look like another line.
function appendLines(node, pieces) {
  let line = null;
  for (const [role, text] of pieces) {
    for (const part of text.split(/(?<=\n)/)) {
      if (!part) continue;
      if (!line) {
        line = element("div", "line");
        line.dir = "auto";
        node.append(line);
      }
      line.append(role === "text" ? document.createTextNode(part) : element("span", role, part));
      if (part.endsWith("\n")) line = null;
    }
  }
}

function markMissing(state, data) {
  const [before, title, after] = data.note || ["", "", ""];
  state.note.replaceChildren(before, element("bdi", "", title), after);
  state.note.hidden = !data.note;
}

function copyButton(data) {
  const holder = element("div", "copy");
  holder.setAttribute("aria-live", "polite");
  const button = element("button", "", "Copy XML");
  button.type = "button";
  button.addEventListener("click", async (event) => {
    event.stopPropagation();
    const text = data.records.flatMap((record) => record.pieces.map((piece) => piece[1])).join("");
    button.textContent = (await copied(text)) ? "Copied" : "Copy is not allowed here";
    setTimeout(() => { button.textContent = "Copy XML"; }, 1600);
  });
  holder.append(button);
  return holder;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // refused by the browser: the button says so, the text can still be marked and copied
  }
}

export default function (component) {
  return showPane(component, {
    name: "xml", role: "region", label: "Rendered XML", build: buildXml, mark: markMissing,
  });
}
