// Each chart can be saved: the static one with its styles, as SVG, or drawn on a canvas, as PNG.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const STYLES = ["fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray", "vector-effect",
    "opacity", "overflow"];
  const FONTS = ["font-family", "font-size", "font-weight", "text-anchor"];
  const EDGE = 16;
  const LINE = 20;
  const SCALE = 2;

  const make = (name, attributes, ...content) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...content);
    return element;
  };
  // Attributes of SVG know no transparent colours: transparency is one of its own.
  const coloured = (element, name, value) => {
    const [, parts, alpha] = /^rgba\((.*), ([\d.]+)\)$/.exec(value) ?? [];
    element.setAttribute(name, parts ? `rgb(${parts})` : value);
    if (parts) element.setAttribute(`${name}-opacity`, alpha);
  };
  const copy = (element) => {
    const style = getComputedStyle(element);
    if (style.display === "none") return [];
    // A link leads nowhere in a file.
    const same = make(element.localName === "a" ? "g" : element.localName, {});
    for (const { name, value } of element.attributes) {
      if (!["class", "href", "style", "tabindex", "role"].includes(name)) same.setAttribute(name, value);
    }
    for (const name of element.localName === "text" ? [...STYLES, ...FONTS] : STYLES) {
      const value = style.getPropertyValue(name);
      if (value) coloured(same, name, value);
    }
    for (const child of element.childNodes) {
      same.append(...(child.nodeType === Node.TEXT_NODE ? [child.data] : copy(child)));
    }
    return [same];
  };

  const measure = document.createElement("canvas").getContext("2d");
  const widthOf = (text, size, weight, family) => {
    measure.font = `${weight} ${size}px ${family}`;
    return measure.measureText(text).width;
  };
  const textOf = (element) => element.textContent.replace(/\s+/g, " ").trim();
  const legendOf = (figure) => {
    for (let part = figure.parentElement; part && part.localName !== "main"; part = part.parentElement) {
      const legend = part.querySelector(":scope > .legend");
      if (legend) return [...legend.children].filter((name) => name.querySelector(".swatch") && !name.querySelector("[aria-pressed=false]"));
    }
    return [];
  };
  const titleOf = (figure) => {
    const within = figure.closest("details.test, section");
    const heading = within?.querySelector("summary h3, h3, h2");
    return [document.title.split(" · ")[0], heading && textOf(heading)].filter(Boolean).join(" · ");
  };

  const drawn = (figure) => {
    const plots = [...figure.querySelectorAll(".plot")];
    plots.forEach((plot) => plot.classList.add("still"));
    const page = getComputedStyle(document.body);
    const soft = getComputedStyle(figure.querySelector(".plot")).getPropertyValue("--soft").trim();
    const family = page.fontFamily;
    const width = Math.max(...plots.map((plot) => plot.scrollWidth)) + 2 * EDGE;
    const parts = [];
    let y = EDGE;
    const write = (text, x, size, weight, fill) => parts.push(make("text",
      { x, y: y + 13, "font-family": family, "font-size": size, "font-weight": weight, fill }, text));

    write(titleOf(figure), EDGE, 14, 600, page.color);
    y += LINE + 4;
    let x = EDGE;
    for (const name of legendOf(figure)) {
      const text = textOf(name);
      const wide = 34 + widthOf(text, 12, 400, family);
      if (x > EDGE && x + wide > width) { x = EDGE; y += LINE; }
      const swatch = getComputedStyle(name.querySelector(".swatch"));
      const round = swatch.borderRadius === "0px" ? 0 : 5;
      parts.push(make("rect", { x, y: y + 4, width: 10, height: 10, rx: round, fill: swatch.backgroundColor, opacity: swatch.opacity }));
      write(text, x + 16, 12, 400, page.color);
      x += wide;
    }
    if (x > EDGE) y += LINE + 4;
    for (const plot of plots) {
      const box = plot.getBoundingClientRect();
      const frames = [...plot.querySelectorAll("svg.frame")];
      const label = frames.map((frame) => frame.getAttribute("aria-label")).find(Boolean);
      if (label) { write(label, EDGE, 12, 400, soft); y += LINE; }
      for (const frame of frames) {
        const place = frame.getBoundingClientRect();
        const [same] = copy(frame);
        if (!same) continue;
        const { paddingLeft, paddingTop, paddingBottom } = getComputedStyle(frame);
        const [left, top, bottom] = [paddingLeft, paddingTop, paddingBottom].map(parseFloat);
        const at = { x: EDGE + place.left - box.left + left, y: y + place.top - box.top + top,
          width: place.width - left, height: place.height - top - bottom };
        for (const [key, value] of Object.entries(at)) same.setAttribute(key, value);
        parts.push(same);
      }
      y += box.height + 8;
    }
    plots.forEach((plot) => plot.classList.remove("still"));
    const height = Math.ceil(y + EDGE);
    return make("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` },
      make("rect", { width, height, fill: page.backgroundColor }), ...parts);
  };

  const keep = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  const save = async (figure, kind) => {
    const picture = drawn(figure);
    const text = new XMLSerializer().serializeToString(picture);
    const number = [...document.querySelectorAll("figure")].indexOf(figure) + 1;
    const name = `${titleOf(figure)} ${number}`.toLowerCase().replace(/[^\p{L}\p{N}.@]+/gu, "-");
    if (kind === "svg") { keep(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`); return; }
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Number(picture.getAttribute("width")) * SCALE;
    canvas.height = Number(picture.getAttribute("height")) * SCALE;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => keep(blob, `${name}.png`), "image/png");
  };

  const prepare = (part) => {
    for (const figure of part.querySelectorAll("figure")) {
      if (!figure.querySelector("svg.frame")) continue;
      const buttons = document.createElement("span");
      buttons.className = "save";
      for (const kind of ["svg", "png"]) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = kind.toUpperCase();
        button.setAttribute("aria-label", `Save this chart as ${button.textContent}`);
        button.title = button.getAttribute("aria-label");
        button.addEventListener("click", () => save(figure, kind));
        buttons.append(button);
      }
      figure.prepend(buttons);
    }
  };
  prepare(document);
  document.addEventListener("drawn", (event) => prepare(event.target));
})();
