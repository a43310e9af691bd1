// A document's text with the borders of its chunks; the text itself is one text node a stretch.

function buildPreview(state, data) {
  const { root } = state;
  root.setAttribute("aria-label", `Text of ${data.title}`);
  for (const piece of data.pieces) {
    if (piece.border) {
      const border = element("p", "border");
      border.append(element("span", "", piece.border));
      if (piece.oversized) border.append(element("i", "chip", "oversized"));
      root.append(border);
    }
    const cover = piece.cover > 1 ? "shared" : piece.cover ? "held" : "outside";
    const node = element("div", `piece ${cover}`, piece.text);
    if (cover === "shared") node.title = "Belongs to both chunks";
    root.append(node);
  }
  if (data.rest) root.append(element("p", "rest", data.rest));
}

export default function (component) {
  return showPane(component, {
    name: "preview", role: "region", label: "Text of the document", build: buildPreview,
  });
}
