// Search field of the site. `lists`: names of pages and headings, properties, texts of sections,
// each as [label, address, text in lower case]. Eight of each list are shown, in this order.
// SPDX-License-Identifier: LGPL-2.1-or-later
function find(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean), shown = new Set();
  const fits = ([label, , text]) => !shown.has(label) && words.every((word) => text.includes(word));
  return lists.flatMap((list) => {
    const found = words.length ? list.filter(fits).slice(0, 8) : [];
    found.forEach(([label]) => shown.add(label));
    return found;
  });
}

function show() {
  document.getElementById("site-results").replaceChildren(...find(field.value).map(([text, page]) => {
    const link = document.createElement("a"), row = document.createElement("li");
    link.href = page;
    link.textContent = text;
    row.append(link);
    return row;
  }));
}

const field = document.getElementById("site-search");
field.addEventListener("input", show);
