// Draw flame graphs when they are unfolded: each is an SVG with scripts, compressed in the page.
(() => {
  "use strict";
  // A graph keeps what is searched in its address, which a part of a page does not have.
  const quiet = "<script>History.prototype.replaceState = () => {};<\/script><script";
  const margin = "<style>body { margin: 0; }</style>";
  const draw = async (details) => {
    const holder = details.querySelector("[data-flames]");
    if (!holder || holder.querySelector("iframe")) return;
    const packed = Uint8Array.from(atob(holder.dataset.flames), (letter) => letter.charCodeAt(0));
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const text = await new Response(unpacked).text();
    const svg = text.slice(text.indexOf("<svg")).replace("<script", quiet);
    const frame = document.createElement("iframe");
    frame.title = details.querySelector("summary").textContent;
    frame.height = holder.dataset.height;
    frame.srcdoc = `<!doctype html><html lang="en">${margin}${svg}`;
    holder.replaceChildren(frame);
  };
  const prepare = (part) => {
    for (const details of part.querySelectorAll("details.flames")) {
      details.addEventListener("toggle", () => { if (details.open) draw(details); });
    }
  };
  prepare(document);
  document.addEventListener("drawn", (event) => prepare(event.target));
})();
