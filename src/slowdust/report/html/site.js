(() => {
  const search = document.getElementById("search");
  const rows = [...document.querySelectorAll("tr[data-name]")];
  const tags = [...document.querySelectorAll("button.tag")];
  const pair = document.getElementById("pair");
  search.form.hidden = false;

  const pressed = () => tags.filter((tag) => tag.ariaPressed === "true").map((tag) => tag.dataset.tag);

  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = pressed();
    let shown = 0;
    for (const row of rows) {
      const own = row.dataset.tags.split(" ");
      row.hidden = !(words.every((word) => row.dataset.words.includes(word)) && wanted.every((tag) => own.includes(tag)));
      shown += !row.hidden;
    }
    document.getElementById("shown").textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
    const state = new URLSearchParams();
    if (search.value.trim()) state.set("q", search.value.trim());
    if (wanted.length) state.set("tags", wanted.join(" "));
    history.replaceState(null, "", state.size ? `#${state}` : location.pathname + location.search);
  };

  const restore = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    search.value = state.get("q") ?? "";
    const wanted = (state.get("tags") ?? "").split(" ");
    for (const tag of tags) tag.ariaPressed = String(wanted.includes(tag.dataset.tag));
    show();
  };

  const compare = () => {
    const chosen = rows.filter((row) => row.querySelector(".choose input")?.checked);
    pair.textContent = chosen.length === 1 ? "Choose a second experiment to compare." : "";
    if (chosen.length !== 2) return;
    chosen.sort((a, b) => (a.dataset.started < b.dataset.started ? -1 : 1));
    const [before, after] = chosen.map((row) => row.dataset.name);
    if (pair.dataset.pairs === "any" || chosen[1].dataset.previous === before) {
      const link = document.createElement("a");
      link.href = `diff/${encodeURIComponent(before)}/${encodeURIComponent(after)}.html`;
      link.textContent = `Compare ${before} with ${after}`;
      pair.append(link);
    } else {
      const typed = document.createElement("code");
      typed.textContent = `slowdust diff ${before} ${after}`;
      pair.append("Not among these pages; type ", typed);
    }
  };

  for (const row of rows) {
    const name = row.querySelector("th a");
    if (!name) continue;
    const label = document.createElement("label");
    label.className = "choose";
    const box = document.createElement("input");
    box.type = "checkbox";
    box.ariaLabel = `Compare ${row.dataset.name}`;
    box.addEventListener("change", () => {
      const checked = rows.filter((each) => each.querySelector(".choose input")?.checked);
      if (checked.length > 2) checked.find((each) => each !== row).querySelector(".choose input").checked = false;
      compare();
    });
    label.append(box, " ");
    name.before(label);
  }
  search.addEventListener("input", show);
  search.form.addEventListener("submit", (event) => event.preventDefault());
  for (const tag of tags) {
    tag.addEventListener("click", () => {
      tag.ariaPressed = String(tag.ariaPressed !== "true");
      show();
    });
  }
  addEventListener("hashchange", restore);
  restore();
})();
