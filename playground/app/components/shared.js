// What all panes have in common: one root per mount, rebuilt only when its content changed.
// Nodes are made with createElement and textContent alone, so no record can become markup.

const mounted = new WeakMap(); // shadow root -> state of the pane in it
const REVEAL_OFFSET = 72; // px left above a record that is scrolled to: room for a sticky head and some context
const PICK_DELAY = 140; // ms an arrow key rests on a record before the page is told
const FOCUS_PATIENCE = 3000; // ms in which what was pressed may go from the page once its change is done
const PICK_PATIENCE = 2000; // ms a click outranks what the page still sends about earlier clicks

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// Mount or update a pane. `spec` has name, role, label, build(state, data) and, optionally, mark(state, data) and
// required: one item is marked always.
function showPane(component, spec) {
  const { parentElement, data, setTriggerValue } = component;
  if (!data) return;
  let state = mounted.get(parentElement);
  if (!state) {
    state = createState(parentElement, spec);
    mounted.set(parentElement, state);
  }
  state.send = (key) => setTriggerValue("pick", key);
  if (state.turn !== undefined && state.turn !== data.turn) catchFocus(state);
  state.turn = data.turn;
  state.root.style.height = `${data.height}px`;
  const rebuilt = state.digest !== data.digest;
  if (rebuilt) {
    const anchor = visibleAnchor(state);
    state.root.replaceChildren();
    state.items = new Map();
    spec.build(state, data);
    state.digest = data.digest;
    setActive(state, null);
    restoreAnchor(state, anchor);
  }
  const selected = data.selected || ""; // empty text: no record is marked
  const waiting = state.picked !== null && performance.now() < state.pickedUntil;
  if (waiting && selected !== state.picked) {
    setActive(state, state.picked);
  } else {
    const elsewhere = selected !== state.wanted;
    state.wanted = selected;
    if (!waiting) state.picked = null;
    if (spec.mark) spec.mark(state, data);
    setActive(state, selected);
    if (elsewhere && selected !== state.picked) reveal(state);
    state.picked = null;
  }
  // No clean-up is returned: it would run whenever a newer update overtakes this one, and take the pane away.
  // Everything hangs off the shadow root and goes with it.
}

function createState(parentElement, spec) {
  const root = element("div", `pane ${spec.name}`);
  root.tabIndex = 0;
  root.setAttribute("role", spec.role);
  root.setAttribute("aria-label", spec.label);
  const state = {
    root, spec, items: new Map(), digest: null, wanted: undefined, active: null, picked: null, pickedUntil: 0,
    width: 0, made: 0, timer: 0, turn: undefined, watch: 0, send: () => {},
  };
  // A pane in a hidden tab has no width, and at another width its lines break elsewhere: the marked record is
  // brought back into view whenever the width changed.
  new ResizeObserver(() => {
    if (root.clientWidth === state.width) return;
    state.width = root.clientWidth;
    reveal(state);
  }).observe(root);
  root.addEventListener("click", (event) => {
    const item = event.target.closest("[data-key]");
    if (item && !textIsSelected(root)) pick(state, item.dataset.key, 0);
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.active && !spec.required) pick(state, "", 0);
    else if (spec.role === "listbox") step(state, event);
  });
  parentElement.appendChild(root);
  return state;
}

// Register a node as the place of a record in this pane.
function keyed(state, node, key, label) {
  node.dataset.key = key;
  if (state.spec.role === "listbox") {
    node.setAttribute("role", "option");
    node.setAttribute("aria-selected", "false");
    node.id = `item-${state.made++}`;
  }
  if (label) node.setAttribute("aria-label", label);
  if (!state.items.has(key)) state.items.set(key, node);
  return node;
}

function setActive(state, key) {
  if (state.active) {
    state.active.classList.remove("active");
    if (state.spec.role === "listbox") state.active.setAttribute("aria-selected", "false");
  }
  state.active = (key && state.items.get(key)) || null;
  if (state.spec.role !== "listbox") {
    if (state.active) state.active.classList.add("active");
    return;
  }
  if (!state.active) {
    state.root.removeAttribute("aria-activedescendant");
    return;
  }
  state.active.classList.add("active");
  state.active.setAttribute("aria-selected", "true");
  state.root.setAttribute("aria-activedescendant", state.active.id);
  const folded = state.active.closest("details");
  if (folded) folded.open = true;
}

function pick(state, key, delay) {
  state.picked = key;
  state.wanted = key;
  state.pickedUntil = performance.now() + PICK_PATIENCE;
  setActive(state, key);
  clearTimeout(state.timer);
  state.timer = setTimeout(() => state.send(key), delay);
}

function step(state, event) {
  const shown = [...state.items.values()].filter((node) => node.checkVisibility());
  const at = shown.indexOf(state.active);
  const last = shown.length - 1;
  const page = Math.max(1, Math.floor(state.root.clientHeight / Math.max(1, shown[Math.max(0, at)]?.offsetHeight)) - 2);
  const moves = {
    ArrowDown: at + 1, ArrowUp: at < 0 ? 0 : at - 1, Home: 0, End: last,
    PageDown: Math.min(last, Math.max(0, at) + page), PageUp: Math.max(0, at - page),
  };
  const to = shown[moves[event.key]];
  if (!(event.key in moves) || event.target.tagName === "SUMMARY") return;
  event.preventDefault(); // the page itself must not scroll
  if (!to || to === state.active) return;
  pick(state, to.dataset.key, PICK_DELAY);
  keepInView(state.root, to);
}

// Scroll the pane itself: scrollIntoView would move the page as well.
function reveal(state) {
  if (!state.active || state.root.clientHeight === 0) return; // hidden: the observer reveals it later
  state.root.scrollTop = top(state.root, state.active) - REVEAL_OFFSET;
}

function keepInView(root, node) {
  const box = node.getBoundingClientRect();
  const frame = root.getBoundingClientRect();
  const head = 36; // a sticky head covers this much
  if (box.top < frame.top + head) root.scrollTop -= frame.top + head - box.top;
  else if (box.bottom > frame.bottom) root.scrollTop += box.bottom - frame.bottom + 4;
}

function top(root, node) {
  return node.getBoundingClientRect().top - root.getBoundingClientRect().top - root.clientTop + root.scrollTop;
}

// What stays where it is when the content is rebuilt: the selected record if it is in view, else the first in view.
function visibleAnchor(state) {
  const { root, active } = state;
  if (root.clientHeight === 0 || root.scrollTop === 0) return null;
  const inView = (node) => {
    const y = top(root, node) - root.scrollTop;
    return node.checkVisibility() && y + node.offsetHeight > 0 && y < root.clientHeight;
  };
  const node = active && inView(active) ? active : [...state.items.values()].find(inView);
  return node ? { key: node.dataset.key, y: top(root, node) - root.scrollTop, scroll: root.scrollTop } : null;
}

function restoreAnchor(state, anchor) {
  if (!anchor) return;
  const node = state.items.get(anchor.key);
  state.root.scrollTop = node && node.checkVisibility() ? top(state.root, node) - anchor.y : anchor.scroll;
}

// Take the focus if what has it goes from the page, as a button does that can be pressed once: else the keyboard
// would have to start from the top again.
function catchFocus(state) {
  clearInterval(state.watch);
  const until = performance.now() + FOCUS_PATIENCE;
  state.watch = setInterval(() => {
    const lost = !document.activeElement || document.activeElement === document.body;
    if (lost && state.root.clientHeight) state.root.focus({ preventScroll: true });
    if (lost || performance.now() > until) clearInterval(state.watch);
  }, 50);
}

function textIsSelected(root) {
  const scope = root.getRootNode();
  const selection = scope.getSelection ? scope.getSelection() : document.getSelection();
  return Boolean(selection && selection.toString());
}

function kindBar(slot, half) {
  return element("span", `bar ${slot}${half ? " half" : ""}`);
}

function tokenCount(text) {
  const node = element("span", "tokens", text);
  node.append(element("small", "", " tokens"));
  return node;
}
