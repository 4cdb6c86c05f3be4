// Filter, sort and fold. The page is complete without this; the state is kept in the URL.
(() => {
  "use strict";
  const form = document.getElementById("filters");
  const table = document.getElementById("results-table");
  const tools = document.getElementById("tools");
  const tests = [...document.querySelectorAll("details.test")];

  const unfoldTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.matches("details.test")) {
      target.hidden = false;
      target.open = true;
      target.scrollIntoView();
    }
  };

  tools.hidden = tests.length < 2;
  tools.addEventListener("click", (event) => {
    const fold = event.target.dataset.fold;
    if (fold) tests.forEach((test) => { test.open = fold === "open"; });
  });
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")].filter((one) => !one.querySelector("[data-later]:empty"));
    folded.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));
  addEventListener("hashchange", unfoldTarget);
  if (!table) { unfoldTarget(); return; }

  const groups = [...table.tBodies];
  const rows = [...table.querySelectorAll("tr.row")];
  const home = new Map(rows.map((row) => [row, row.parentNode]));
  const heads = [...table.tHead.rows];
  const sortable = [...heads.at(-1).cells];
  const flat = document.createElement("tbody");
  const state = { q: "", verdict: "", group: "", metric: "", hide: "", sort: "", down: "" };
  const data = JSON.parse(document.getElementById("metrics")?.textContent ?? "{}");
  const places = sortable.map((head) => head.dataset.sort).filter((name) => /^\d+$/.test(name ?? "")).map(Number);
  const placeOf = new Map(sortable.map((head, column) => [head.dataset.sort, column]));
  const boxes = [...form.querySelectorAll("[name=shown]")];
  const rates = new Map();
  const classes = { less: "faster", more: "slower", unsure: "not-sure", same: "" };

  const cellOf = (shown) => {
    const cell = document.createElement("td");
    cell.className = "number rel";
    if (!shown) { cell.textContent = "–"; cell.classList.add("absent"); return cell; }
    const [digits, interval, verdict] = shown;
    cell.dataset.value = digits;
    if (classes[verdict]) cell.classList.add(classes[verdict]);
    const [figure, range, word] = [["span", digits], ["small", interval], ["span", verdict]].map(([tag, text]) => {
      const part = document.createElement(tag);
      part.textContent = text;
      return part;
    });
    figure.className = "figure";
    word.className = "word";
    cell.append(figure, " ", word, range);
    return cell;
  };
  const showMetric = () => {
    const metric = data[state.metric];
    for (const row of rows) {
      places.forEach((place) => {
        const column = placeOf.get(String(place));
        const key = `${row.dataset.anchor} ${place}`;
        if (!rates.has(key)) rates.set(key, row.cells[column]);
        row.cells[column].replaceWith(metric ? cellOf(metric[row.dataset.anchor][place]) : rates.get(key));
      });
    }
    for (const place of places) {
      const about = sortable[placeOf.get(String(place))].querySelector("small");
      about.dataset.rate ??= about.textContent;
      about.textContent = metric ? form.elements.metric.selectedOptions[0].text : about.dataset.rate;
    }
  };
  const hideContenders = () => {
    const hidden = new Set(state.hide.split(",").filter(Boolean));
    for (const place of places) {
      for (const name of [String(place), `work-${place}`]) {
        const column = placeOf.get(name);
        if (column === undefined) continue;
        for (const row of [...heads, ...rows]) row.cells[column].hidden = hidden.has(String(place));
      }
    }
  };

  const matches = (row) => {
    const { name, group, verdicts } = row.dataset;
    return name.toLowerCase().includes(state.q.toLowerCase())
      && (!state.group || group === state.group)
      && (!state.verdict || verdicts.split(" ").includes(state.verdict));
  };
  const key = (row, column) => {
    if (state.sort === "name") return row.dataset.name;
    const value = row.cells[column].dataset.value;
    return value ? Number(value) : null;
  };
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
    return state.down ? -order : order;
  };

  const arrange = () => {
    const column = sortable.findIndex((head) => state.sort && head.dataset.sort === state.sort);
    for (const head of sortable) head.removeAttribute("aria-sort");
    if (column < 0) {
      rows.forEach((row) => home.get(row).append(row));
      flat.remove();
    } else {
      sortable[column].setAttribute("aria-sort", state.down ? "descending" : "ascending");
      const sorted = rows.map((row) => [key(row, column), row]).sort(([a], [b]) => compare(a, b));
      flat.replaceChildren(...sorted.map(([, row]) => row));
      table.append(flat);
    }
    let shown = 0;
    for (const row of rows) {
      row.hidden = !matches(row);
      shown += !row.hidden;
      const test = document.getElementById(row.dataset.anchor);
      if (test) test.hidden = row.hidden;
    }
    for (const group of groups) group.hidden = !group.querySelector("tr.row:not([hidden])");
    form.querySelector("output").textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
  };

  const remember = () => {
    const query = new URLSearchParams(Object.entries(state).filter(([, value]) => value));
    const address = `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`;
    try { history.replaceState(null, "", address); } catch { /* some viewers have no address */ }
  };
  const showAll = () => { showMetric(); hideContenders(); arrange(); };
  const change = () => { showAll(); remember(); };

  for (const head of sortable.filter((head) => head.dataset.sort)) {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort; a third time for the order of the tests";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      if (state.sort !== head.dataset.sort) Object.assign(state, { sort: head.dataset.sort, down: "" });
      else if (!state.down) state.down = "1";
      else Object.assign(state, { sort: "", down: "" });
      change();
    });
  }
  for (const name of ["q", "verdict", "group", "metric"]) {
    const field = form.elements[name];
    if (!field) continue;
    field.addEventListener(field.matches("select") ? "change" : "input", () => { state[name] = field.value; change(); });
  }
  for (const box of boxes) {
    box.addEventListener("change", () => {
      state.hide = boxes.filter((one) => !one.checked).map((one) => one.value).join(",");
      change();
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    Object.assign(state, { q: "", verdict: "", group: "", metric: "", hide: "" });
    change();
  });

  for (const [name, value] of new URLSearchParams(location.search)) {
    if (name in state) state[name] = value;
    if (form.elements[name]) form.elements[name].value = value;
  }
  const hiddenAtFirst = state.hide.split(",");
  for (const box of boxes) box.checked = !hiddenAtFirst.includes(box.value);
  if (!(state.metric in data)) state.metric = "";
  form.hidden = false;
  showAll();
  unfoldTarget();
})();
