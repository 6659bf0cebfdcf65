// The ancestors of the fastest kernels as a tree: a row for each, joined by lines on the left.

const kLaneWidth = 18;
const kMostChanges = 8;

/** The nodes depth first, with a lane each: the line to the fastest kernel keeps the first lane. */
function arranged(nodes) {
  const children = new Map();
  for (const node of nodes) {
    const siblings = children.get(node.parent) ?? [];
    siblings.push(node);
    children.set(node.parent, siblings);
  }
  // The rank of the best kernel below a node decides which child goes on in its lane.
  const rankBelow = node => Math.min(node.rank || Infinity, ...(children.get(node.candidate) ?? []).map(rankBelow));
  const rows = [];
  let lanes = 0;
  const visit = (node, lane) => {
    rows.push({node, lane});
    const below = [...(children.get(node.candidate) ?? [])].sort((a, b) => rankBelow(a) - rankBelow(b));
    // Side branches first, so that the main line runs past them to its end.
    for (const child of below.slice(1)) visit(child, ++lanes);
    if (below.length > 0) visit(below[0], lane);
  };
  for (const root of [...(children.get(null) ?? [])].sort((a, b) => rankBelow(a) - rankBelow(b))) {
    visit(root, lanes === 0 && rows.length === 0 ? 0 : ++lanes);
  }
  return {rows, lanes: lanes + 1};
}

function changeChips(node) {
  if (node.parent === null) return el("span", {class: "about"}, `begins as ${node.genome.family}`);
  if (node.changes.length === 0) return el("span", {class: "about"}, "the same genes");
  const more = node.changes.length - kMostChanges;
  return el("span", {class: "chips"}, node.changes.slice(0, kMostChanges).map(([gene, from, to]) =>
    el("span", {class: "chip"}, `${gene} `, el("s", {}, from), " ", el("b", {}, to))),
    more > 0 ? el("span", {class: "about"}, `and ${more} more`) : null);
}

function lineageSection() {
  const nodes = data.lineage.nodes;
  const holder = at("lineage-tree");
  holder.dataset.points = nodes.length;
  if (nodes.length === 0) {
    holder.append(el("p", {}, "No candidate was valid."));
    return;
  }
  const {rows, lanes} = arranged(nodes);
  const graph = el("svg", {class: "graph", "aria-hidden": "true"});
  const items = rows.map(({node}) => {
    const parent = lineageOf.get(node.parent);
    const gain = parent?.latency_us && node.latency_us ? parent.latency_us / node.latency_us : null;
    const about = [node.op, node.further.length > 0 ? ` with #${node.further.join(", #")}` : ""].join("");
    return el("li", {class: node.rank > 0 ? "elite" : null},
      el("button", {type: "button", class: "node", onclick: () => showCandidate(node.candidate)},
        el("span", {class: "node-id"}, `#${node.candidate}`),
        el("span", {class: "node-us"}, node.latency_us === null ? words(node.verdict) : withUnit(node.latency_us)),
        gain === null ? null : el("span", {class: gain >= 1 ? "gain" : "gain loss"}, times(gain)),
        node.rank > 0 ? el("span", {class: "badge"}, ["fastest", "second", "third"][node.rank - 1]) : null,
        el("span", {class: "node-op"}, about),
        node.parent === null ? null : el("span", {class: "node-op printed"}, `from #${node.parent}`)),
      changeChips(node));
  });
  const list = el("ol", {class: "tree"}, items);
  list.style.paddingLeft = `${lanes * kLaneWidth + 10}px`;
  holder.append(el("div", {class: "tree-box"}, graph, list));

  const rowOfNode = new Map(rows.map((row, i) => [row.node.candidate, i]));
  const place = i => ({x: rows[i].lane * kLaneWidth + 10, y: items[i].offsetTop + 16});
  const draw = () => {
    graph.setAttribute("width", lanes * kLaneWidth + 10);
    graph.setAttribute("height", list.offsetHeight);
    graph.replaceChildren(
      ...rows.flatMap(({node}, i) => {
        if (node.parent === null) return [];
        const from = place(rowOfNode.get(node.parent)), to = place(i);
        const path = from.x === to.x ? `M${from.x},${from.y}V${to.y}`
          : `M${from.x},${from.y}C${from.x},${from.y + 18} ${to.x},${from.y + 6} ${to.x},${from.y + 24}V${to.y}`;
        return [el("path", {d: path})];
      }),
      ...rows.map(({node}, i) => {
        const {x, y} = place(i);
        return el("circle", {cx: x, cy: y, r: node.rank > 0 ? 6 : 4,
          class: node.rank > 0 ? "elite" : node.verdict === "valid" ? "" : "failed"});
      }));
  };
  draw();
  new ResizeObserver(draw).observe(list);
}
