// Charts with values beside them are drawn by uPlot: zoomed together, with values where the pointer is.
// The static chart stays for paper, for files and for readers without scripts.
(() => {
  "use strict";
  const NARROWEST = 5;
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200];
  const MOST_VALUES = 8;
  const TOOLS = [["in", "+", "Zoom in"], ["out", "−", "Zoom out"], ["earlier", "←", "Earlier"],
    ["later", "→", "Later"], ["reset", "Reset", "Show all"]];

  const clock = (seconds) => {
    const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds % 60)];
    const two = (value) => String(value).padStart(2, "0");
    return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
  };
  const digits = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
  const time = (us) => us < 1e3 ? `${digits(us)} µs` : us < 1e6 ? `${digits(us / 1e3)} ms` : `${digits(us / 1e6)} s`;
  const make = (tag, attributes = {}, ...content) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...content);
    return element;
  };
  const styled = (name, element) => getComputedStyle(element).getPropertyValue(name).trim();

  // One array of x for all curves: undefined where another curve has a point, null where a run ends.
  const aligned = (curves) => {
    const columns = curves.map(({ runs }) => {
      const values = new Map();
      runs.forEach(([first, ys, distances], index) => {
        if (index) values.set(first - 0.25, null);
        let x = first;
        ys.forEach((value, at) => { values.set(x, value); x += distances?.[at] ?? 1; });
      });
      return values;
    });
    const xs = [...new Set(columns.flatMap((values) => [...values.keys()]))].sort((a, b) => a - b);
    return [xs.map((x) => x + 0.5), ...columns.map((values) => xs.map((x) => values.get(x)))];
  };

  const inked = (chart, colour, alpha, draw) => {
    const { ctx } = chart;
    ctx.save();
    ctx.globalAlpha = alpha;
    ctx.fillStyle = ctx.strokeStyle = colour;
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    draw(ctx, chart.bbox);
    ctx.restore();
  };
  const across = (chart, value) => (ctx, { left, width }) => {
    const y = chart.valToPos(value, "y", true);
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
  };
  const target = (value) => (chart) => inked(chart, styled("--ink", chart.root), 0.7, (ctx, box) => {
    ctx.setLineDash([5, 4].map((part) => part * devicePixelRatio));
    across(chart, value)(ctx, box);
  });
  const band = ([low, high]) => (chart) => {
    const [top, bottom] = [high, low].map((value) => chart.valToPos(value, "y", true));
    inked(chart, styled("--margin", chart.root), 1, (ctx, { left, width }) => ctx.fillRect(left, top, width, bottom - top));
    inked(chart, styled("--soft", chart.root), 1, across(chart, 1));
  };
  const pairs = (values) => (chart) => inked(chart, styled("--soft", chart.root), 0.4, (ctx) => {
    const base = values.curves.findIndex(({ label }) => label === values.joined) + 1;
    const [from, to] = [chart.scales.x.min, chart.scales.x.max];
    chart.data[0].forEach((at, index) => {
      const ys = chart.data.slice(1).map((column) => column[index]).filter((value) => value != null);
      if (chart.data[base][index] == null || ys.length < 2 || at < from || at > to) return;
      const x = chart.valToPos(at, "x", true);
      ctx.moveTo(x, chart.valToPos(Math.min(...ys), "y", true));
      ctx.lineTo(x, chart.valToPos(Math.max(...ys), "y", true));
    });
    ctx.stroke();
  });
  const levels = (values, swatches) => (chart) => values.levels.forEach(({ mark, value, low, high }, place) => {
    const at = values.curves.findIndex((curve) => curve.mark === mark);
    if (at < 0 || !chart.series[at + 1].show) return;
    const colour = styled("--mark", swatches[at]);
    inked(chart, colour, 0.75, across(chart, value));
    inked(chart, colour, 1, (ctx, { left, width }) => {
      const x = left + width + (10 + 9 * place) * devicePixelRatio;
      const y = (end) => chart.valToPos(Math.min(Math.max(end, values.y.low), values.y.high), "y", true);
      ctx.arc(x, y(value), 2.75 * devicePixelRatio, 0, 7);
      ctx.fill();
      if (low == null || high == null) return;
      ctx.lineWidth = 2 * devicePixelRatio;
      ctx.moveTo(x, y(high));
      ctx.lineTo(x, y(low));
      ctx.stroke();
    });
  });
  // Dots of a contender's shape, and arrowheads for those beyond the axis.
  const dots = ({ y, curves }) => (chart, series, first, last) => {
    const fill = new Path2D();
    const size = 2.75 * devicePixelRatio;
    const square = curves[series - 1].mark.includes("square");
    for (let at = first; at <= last; at += 1) {
      const value = chart.data[series][at];
      if (value == null) continue;
      const x = chart.valToPos(chart.data[0][at], "x", true);
      const above = value > y.high;
      if (above || value < y.low) {
        const [edge, way] = [chart.valToPos(above ? y.high : y.low, "y", true), above ? 2 : -2];
        fill.moveTo(x, edge);
        fill.lineTo(x - size, edge + way * size);
        fill.lineTo(x + size, edge + way * size);
        fill.closePath();
        continue;
      }
      const middle = chart.valToPos(value, "y", true);
      if (square) fill.rect(x - size, middle - size, 2 * size, 2 * size);
      else { fill.moveTo(x + size, middle); fill.arc(x, middle, size, 0, 7); }
    }
    return { fill, stroke: null, clip: null, flags: 3 };
  };
  const roundAt = (incarnations, x) => {
    const [number, start] = incarnations.findLast(([, from]) => x >= from) ?? incarnations[0];
    return `Start ${number}, round ${Math.floor(x - start) + 1}`;
  };

  // The values under the pointer, those nearest to it first.
  const readout = (values) => {
    let box;
    return {
      hooks: {
        init: (chart) => { box = chart.over.appendChild(make("div", { class: "readout", hidden: "" })); },
        setCursor: (chart) => {
          const { idx, left, top } = chart.cursor;
          const here = chart.series.slice(1).flatMap((series, at) => {
            const value = chart.data[at + 1][idx];
            return series.show && value != null ? [[value, values.curves[at]]] : [];
          });
          box.hidden = left < 0 || top < 0 || !here.length;
          if (box.hidden) return;
          const away = ([value]) => Math.abs(chart.valToPos(value, "y") - top);
          const shown = here.sort((a, b) => away(a) - away(b)).slice(0, MOST_VALUES);
          const print = values.y.unit === "time" ? time : digits;
          const x = chart.data[0][idx];
          const where = values.incarnations ? roundAt(values.incarnations, x) : clock(x - 0.5);
          box.replaceChildren(make("b", {}, where), ...shown.map(([value, curve]) => (
            make("span", {}, make("i", { class: `swatch ${curve.mark}` }), `${curve.label}: ${print(value)}`))));
          const width = chart.over.clientWidth;
          box.style.left = left < width / 2 ? `${left + 14}px` : "";
          box.style.right = left < width / 2 ? "" : `${width - left + 14}px`;
        },
      },
    };
  };
  const bySecond = { space: 60, incrs: STEPS, values: (_, splits) => splits.map(clock) };
  const byIncarnation = (incarnations, group) => {
    const seen = () => incarnations.map(([number, start, end]) => (
      [number, Math.max(start, group.stretch[0]), Math.min(end, group.stretch[1])])).filter(([, start, end]) => start < end);
    const word = incarnations.length <= 4 ? "start " : "";
    return {
      grid: { show: false },
      splits: () => seen().map(([, start, end]) => (start + end) / 2),
      filter: (_, splits) => splits,
      values: () => seen().map(([number]) => `${word}${number}`),
    };
  };
  const drawn = (plot, values, group) => {
    const room = getComputedStyle(plot);
    const [top, right, bottom, left] = ["Top", "Right", "Bottom", "Left"].map((side) => parseFloat(room[`padding${side}`]));
    const frame = plot.querySelector(".frame:not(.axis)");
    const above = Math.max(top, 9); // half of the highest label
    const height = Number(frame.getAttribute("height")) + above + bottom;
    const { y } = values;
    const swatches = values.curves.map(({ mark }) => plot.appendChild(make("i", { class: mark, hidden: "" })));
    const axis = {
      stroke: () => styled("--soft", plot), font: `11.5px ${styled("--sans", plot)}`, ticks: { show: false },
      grid: { stroke: () => styled("--hair", plot), width: 1 }, border: { show: false },
    };
    const chart = new uPlot({
      width: plot.clientWidth,
      height,
      padding: [above, right, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        points: { size: 6 },
        drag: { x: true, y: false, setScale: false },
        sync: { key: group.key, scales: ["x", null] },
        bind: { dblclick: () => () => { group.show(0, values.length); } },
      },
      scales: {
        x: { time: false, range: () => group.stretch },
        y: { range: [y.low, y.high], distr: y.logarithmic ? 3 : 1 },
      },
      axes: [
        { ...axis, size: bottom, gap: 6, ...(values.incarnations ? byIncarnation(values.incarnations, group) : bySecond) },
        { ...axis, size: left, gap: 8, splits: y.ticks.map(([tick]) => tick), filter: (_, splits) => splits,
          values: () => y.ticks.map(([, label]) => label) },
      ],
      series: [{}, ...values.curves.map(({ label, mark, later }, at) => ({
        label,
        stroke: () => styled("--mark", swatches[at]),
        width: 1.3,
        alpha: later ? 0.45 : mark.includes("pale") ? 0.6 : 1,
        ...(values.incarnations
          ? { paths: () => null, points: { show: true, paths: dots(values), fill: () => styled("--mark", swatches[at]) } }
          : { points: { size: 3 } }),
      }))],
      hooks: {
        setSelect: [(self) => {
          const { left: start, width } = self.select;
          // Those that only follow the pointer of another have no event.
          if (width >= 4 && self.cursor.event) group.show(self.posToVal(start, "x"), self.posToVal(start + width, "x"));
          if (width) self.setSelect({ left: 0, width: 0 }, false);
        }],
        drawAxes: [...(y.band ? [band(y.band)] : []), ...(values.joined === undefined ? [] : [pairs(values)])],
        draw: [...(y.dashed === undefined ? [] : [target(y.dashed)]), ...(values.levels ? [levels(values, swatches)] : [])],
      },
      plugins: [readout(values)],
    }, aligned(values.curves), plot);
    chart.root.setAttribute("role", "img");
    chart.root.setAttribute("aria-label", frame.getAttribute("aria-label"));
    plot.classList.add("drawn");
    plot.chart = chart;
    return chart;
  };

  let groups = 0;
  const interactive = (graphs) => {
    const plots = [...graphs.querySelectorAll(".plot")].filter((plot) => plot.querySelector(":scope > .values"));
    if (!plots.length) return;
    const all = plots.map((plot) => JSON.parse(plot.querySelector(":scope > .values").textContent));
    const { length } = all[0];
    const output = make("output", { "aria-live": "polite" });
    const bar = make("div", { class: "zoom", role: "toolbar", "aria-label": "Zoom of the graphs" },
      ...TOOLS.map(([act, sign, title]) => make("button", { type: "button", "data-act": act, title, "aria-label": title }, sign)),
      output, make("span", { class: "aside" }, "Drag over a graph to zoom; double-click to reset. Click a name to hide it."));
    const group = { key: `graphs-${groups += 1}`, stretch: [0, length] };
    let charts = [];
    const hidden = new Set();

    group.show = (start, end) => {
      const span = Math.min(length, Math.max(Math.min(NARROWEST, length), end - start));
      const from = Math.round(Math.max(0, Math.min(start, length - span)) * 10) / 10;
      const to = Math.min(length, from + span);
      group.stretch = [from, to];
      for (const chart of charts) chart.setScale("x", { min: from, max: to });
      const whole = span >= length;
      const name = (x) => all[0].incarnations ? roundAt(all[0].incarnations, x).toLowerCase() : clock(Math.round(x));
      output.textContent = whole ? "" : `${name(from)} to ${name(to)}`;
      for (const button of bar.querySelectorAll("button:not([data-act=in])")) button.disabled = whole;
    };
    const about = (share) => {
      const [from, to] = group.stretch;
      group.show((from + to - (to - from) * share) / 2, (from + to + (to - from) * share) / 2);
    };
    const moved = (share) => {
      const [from, to] = group.stretch;
      group.show(from + (to - from) * share, to + (to - from) * share);
    };
    const acts = {
      in: () => about(0.5), out: () => about(2), earlier: () => moved(-0.5), later: () => moved(0.5),
      reset: () => group.show(0, length),
    };
    const showLines = () => charts.forEach((chart, index) => {
      all[index].curves.forEach(({ mark }, at) => {
        chart.setSeries(at + 1, { show: !hidden.has(mark) });
        const lines = plots[index].querySelectorAll(`.marks .${mark.split(" ").join(".")}`);
        lines.forEach((line) => line.classList.toggle("hidden", hidden.has(mark)));
      });
    });
    const draw = () => {
      if (charts.length || !graphs.clientWidth) return;
      charts = plots.map((plot, index) => drawn(plot, all[index], group));
      showLines();
    };

    for (const name of graphs.querySelectorAll(".legend [data-line]")) {
      const button = make("button", { type: "button", "aria-pressed": "true", title: "Hide or show its lines" }, ...name.childNodes);
      name.append(button);
      button.addEventListener("click", () => {
        const wasShown = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", String(!wasShown));
        hidden[wasShown ? "add" : "delete"](name.dataset.line);
        showLines();
      });
    }
    graphs.querySelector("figure").before(bar);
    bar.addEventListener("click", (event) => acts[event.target.dataset.act]?.());
    graphs.addEventListener("keydown", (event) => { if (event.key === "Escape") acts.reset(); });
    document.querySelectorAll(`a[data-zoom][href="#${CSS.escape(graphs.id)}"]`).forEach((link) => {
      link.addEventListener("click", () => group.show(...link.dataset.zoom.split(",").map(Number)));
    });
    group.show(0, length);
    // A chart that is folded away has no width: it is drawn once there is room.
    new ResizeObserver(() => {
      draw();
      for (const chart of charts) {
        const width = chart.root.parentNode.clientWidth;
        if (width && width !== chart.width) chart.setSize({ width, height: chart.height });
      }
    }).observe(graphs);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((chart) => chart.redraw(false)));
  };

  document.querySelectorAll(".graphs").forEach(interactive);
  document.addEventListener("drawn", (event) => event.target.querySelectorAll(".graphs").forEach(interactive));
})();
