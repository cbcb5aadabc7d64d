// ---------------------------------------------------------------------------------------------------------------------
// Numbers as they are in the tables (formats.py)

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const timesTen = (power) => " × 10" + [...String(power)].map((sign) => RAISED[sign]).join("");
const powerOf = (value, digits) => (value === 0 ? 0 : Number(Math.abs(value).toExponential(digits - 1).split("e")[1]));
const grouped = (value, decimals) =>
  value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });

function readable(value, digits = 4) {
  if (value === null || !isFinite(value)) return "-";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return grouped(value, 0);
  const power = powerOf(value, digits);
  if (power >= 7 || power < -4) return (value / 10 ** power).toFixed(digits - 1) + timesTen(power);
  return grouped(value, Math.max(0, digits - 1 - power));
}

function measured(value, half) {
  if (value === null || half === null || !isFinite(half)) return readable(value);
  if (half <= 1e-12 * Math.abs(value)) return `${readable(value)} ± ${readable(half, 2)}`;
  const power = powerOf(Math.max(Math.abs(value), half), 2);
  if (power >= -4 && power < 7) {
    const decimals = Math.max(0, 1 - powerOf(half, 2));
    return `${grouped(value, decimals)} ± ${grouped(half, decimals)}`;
  }
  const decimals = Math.max(0, 1 - powerOf(half / 10 ** power, 2));
  const parts = [value, half].map((each) => (each / 10 ** power).toFixed(decimals));
  return `(${parts.join(" ± ")})${timesTen(power)}`;
}

function tick(value) {
  const power = powerOf(value, 6);
  if (value !== 0 && (power >= 7 || power < -4)) {
    const words = Number((value / 10 ** power).toPrecision(6)) + timesTen(power);
    return words.replace(/^(-?)1 × /, "$1").replace("-", "−");
  }
  return Number(value.toPrecision(10)).toLocaleString("en-US", { maximumFractionDigits: 16 }).replace("-", "−");
}

// ---------------------------------------------------------------------------------------------------------------------
// Elements

function made(name, attributes = {}, ...children) {
  const drawn = ["svg", "path", "line", "text", "rect", "g", "circle", "clipPath"].includes(name);
  const node = drawn ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

// ---------------------------------------------------------------------------------------------------------------------
// Light and dark

function themeSwitch() {
  const root = document.documentElement;
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const button = document.querySelector("button.theme");
  const say = () => (button.textContent = dark() ? "Light colours" : "Dark colours");
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    say();
  });
  say();
}

// ---------------------------------------------------------------------------------------------------------------------
// Tables that sort

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, at) => {
    const cell = row.cells[at];
    if (cell.classList.contains("number")) return "value" in cell.dataset ? Number(cell.dataset.value) : null;
    return cell.textContent.trim() || null;
  };
  const compared = (a, b) => (typeof a === "number" ? (a > b) - (a < b) : a.localeCompare(b, undefined, { numeric: true }));
  heads.forEach((head, at) => {
    const button = made("button", { type: "button", class: "sort" }, ...head.childNodes);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      for (const body of table.tBodies) {
        const rows = [...body.rows].filter((row) => !row.classList.contains("group"));
        rows.sort((first, second) => {
          const [a, b] = [key(first, at), key(second, at)];
          if (a === null || b === null) return (a === null) - (b === null); // what is not known is last
          return down ? compared(b, a) : compared(a, b);
        });
        body.append(...rows);
      }
    });
    head.append(button);
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Pictures that zoom, texts that can be copied

function pictures() {
  const dialog = document.querySelector("dialog");
  const image = dialog.querySelector("img");
  document.querySelectorAll("button.enlarge").forEach((button) =>
    button.addEventListener("click", () => {
      const own = button.querySelector("img");
      image.src = own.src;
      image.alt = own.alt;
      dialog.classList.remove("whole");
      dialog.showModal();
    }));
  image.addEventListener("click", () => dialog.classList.toggle("whole"));
  dialog.querySelector("button").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

function copies(box) {
  const button = made("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(box.querySelector("pre").textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(box.querySelector("pre"));
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  box.append(button);
}

themeSwitch();
document.querySelectorAll("main table").forEach(sortable);
document.querySelectorAll(".chart").forEach((figure) => new Chart(figure));
pictures();
document.querySelectorAll(".copied").forEach(copies);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => (each.open = true)));
