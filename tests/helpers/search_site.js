// Runs the search of a built site without a browser: node search_site.js SITE QUERIES prints the pages by query, as JSON.
// Only the functions of Sphinx that rank results run; the page that would show the results is replaced.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [site, queries] = [process.argv[2], JSON.parse(process.argv[3])];
const element = { querySelectorAll: () => [], addEventListener: () => {}, removeChild: () => {}, lastChild: null };
const context = vm.createContext({
  document: { ...element, documentElement: { dataset: {} }, readyState: "loading", getElementById: () => null },
  location: { search: "" },
  addEventListener: () => {},
  localStorage: { setItem: () => {}, getItem: () => null },
  URLSearchParams,
  console,
});
context.window = context;
const run = (name) => vm.runInContext(fs.readFileSync(path.join(site, name), "utf8"), context, { filename: name });
["documentation_options.js", "doctools.js", "language_data.js", "searchtools.js"].forEach((name) => run(`_static/${name}`));
vm.runInContext("var SPHINX_HIGHLIGHT_ENABLED = false; Search._queued_query = null;", context);
run("searchindex.js");

const ranked = {};
for (const query of queries) {
  context.query = query;
  // the site shows results from the end of the list
  const results = vm.runInContext("Search._performSearch(...Search._parseQuery(query))", context).reverse();
  ranked[query] = results.map(([page, title, anchor, , score]) => ({ page, title, anchor, score }));
}
process.stdout.write(JSON.stringify(ranked));
