// The per-second graphs: a part of the time axis, the same in all graphs of a step, and whose lines.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const NARROWEST = 5;
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200];

  const clock = (seconds) => {
    const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
    const two = (value) => String(value).padStart(2, "0");
    return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
  };
  const make = (name, attributes) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  const zoomable = (graphs) => {
    const length = Number(graphs.dataset.seconds);
    const frames = [...graphs.querySelectorAll(".frame")];
    const tools = graphs.querySelector(".zoom");
    const output = tools.querySelector("output");
    let [from, to] = [0, length];

    const drawTimes = (frame) => {
      if (!frame.clientWidth) return; // folded away: drawn once there is room
      const height = Number(frame.getAttribute("height"));
      const most = Math.max(2, Math.min(10, Math.floor(frame.clientWidth / 60)));
      const step = STEPS.find((one) => one >= (to - from) / most) ?? STEPS.at(-1);
      const drawn = [];
      for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
        const share = (tick - from) / (to - from);
        const x = `${(share * 100).toFixed(2)}%`;
        const place = share * frame.clientWidth > 20 ? "tick middle" : "tick";
        const label = make("text", { x, y: height + 15, class: place });
        label.textContent = clock(tick);
        drawn.push(make("line", { x1: x, x2: x, y1: 0, y2: height, class: "grid" }), label);
      }
      frame.querySelector(".times").replaceChildren(...drawn);
    };
    const show = (start, end) => {
      const span = Math.min(length, Math.max(Math.min(NARROWEST, length), end - start));
      from = Math.round(Math.max(0, Math.min(start, length - span)) * 10) / 10;
      to = Math.min(length, from + span);
      for (const frame of frames) {
        const marks = frame.querySelector(".marks");
        const height = marks.getAttribute("viewBox").split(" ")[3];
        marks.setAttribute("viewBox", `${from - 0.5} 0 ${to - from} ${height}`);
        drawTimes(frame);
      }
      const whole = to - from >= length;
      output.textContent = whole ? "" : `${clock(Math.round(from))} to ${clock(Math.round(to))}`;
      for (const button of tools.querySelectorAll("button:not([data-act=in])")) button.disabled = whole;
    };
    const about = (share) => {
      const [middle, half] = [(from + to) / 2, (to - from) * share / 2];
      show(middle - half, middle + half);
    };
    const acts = {
      in: () => about(0.5),
      out: () => about(2),
      earlier: () => show(from - (to - from) / 2, to - (to - from) / 2),
      later: () => show(from + (to - from) / 2, to + (to - from) / 2),
      reset: () => show(0, length),
    };

    let drag = null;
    const shareAt = (event) => {
      const box = drag.frame.getBoundingClientRect();
      return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    };
    const dropped = () => {
      graphs.querySelectorAll(".chosen").forEach((one) => one.remove());
      drag = null;
    };
    for (const frame of frames) {
      frame.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        drag = { frame };
        drag.start = drag.end = shareAt(event);
        frame.setPointerCapture(event.pointerId);
        for (const one of frames) {
          one.append(make("rect", { class: "chosen", y: 0, height: one.getAttribute("height"), width: 0 }));
        }
      });
      frame.addEventListener("pointermove", (event) => {
        if (!drag) return;
        drag.end = shareAt(event);
        const [left, right] = [drag.start, drag.end].sort((a, b) => a - b);
        for (const chosen of graphs.querySelectorAll(".chosen")) {
          chosen.setAttribute("x", `${left * 100}%`);
          chosen.setAttribute("width", `${(right - left) * 100}%`);
        }
      });
      frame.addEventListener("pointerup", () => {
        if (!drag) return;
        const [left, right] = [drag.start, drag.end].sort((a, b) => a - b);
        const moved = (right - left) * frame.clientWidth;
        dropped();
        if (moved >= 4) show(from + left * (to - from), from + right * (to - from));
      });
      frame.addEventListener("pointercancel", dropped);
      frame.addEventListener("dblclick", acts.reset);
    }
    for (const name of graphs.querySelectorAll(".legend [data-line]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.title = "Hide or show its lines";
      button.append(...name.childNodes);
      name.append(button);
      button.addEventListener("click", () => {
        const hidden = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", String(!hidden));
        const lines = `.marks .${name.dataset.line.split(" ").join(".")}`;
        graphs.querySelectorAll(lines).forEach((line) => line.classList.toggle("hidden", hidden));
      });
    }
    tools.hidden = false;
    tools.addEventListener("click", (event) => acts[event.target.dataset.act]?.());
    graphs.addEventListener("keydown", (event) => { if (event.key === "Escape") { dropped(); acts.reset(); } });
    document.querySelectorAll(`a[data-zoom][href="#${CSS.escape(graphs.id)}"]`).forEach((link) => {
      link.addEventListener("click", () => show(...link.dataset.zoom.split(",").map(Number)));
    });
    show(0, length);
    new ResizeObserver(() => show(from, to)).observe(graphs);
  };

  document.querySelectorAll(".graphs").forEach(zoomable);
  document.addEventListener("drawn", (event) => event.target.querySelectorAll(".graphs").forEach(zoomable));
})();
