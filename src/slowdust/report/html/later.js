// Parts of a large page are drawn when they are unfolded: they are compressed in the page.
(() => {
  "use strict";
  const packed = document.getElementById("later");
  if (!packed) return;
  let parts = null;
  const unpack = async () => {
    const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return JSON.parse(await new Response(stream).text());
  };
  const draw = async (holder) => {
    if (holder.childElementCount) return;
    parts ??= unpack();
    const part = (await parts)[holder.dataset.later];
    if (part === undefined || holder.childElementCount) return;
    holder.innerHTML = part;
    holder.dispatchEvent(new CustomEvent("drawn", { bubbles: true }));
  };
  for (const holder of document.querySelectorAll("[data-later]")) {
    const details = holder.closest("details");
    details.addEventListener("toggle", () => { if (details.open) draw(holder); });
    if (details.open) draw(holder);
  }
})();
