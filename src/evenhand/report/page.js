"use strict";
(function () {
  var specs = JSON.parse(document.getElementById("figures").textContent);
  var config = { responsive: true, displayModeBar: false };
  Object.keys(specs).forEach(function (name) {
    var place = document.getElementById("plot-" + name);
    if (place) { Plotly.newPlot(place, specs[name].data, specs[name].layout, config); }
  });

  function lit(chip, on) {
    var pair = chip.closest(".pair");
    var said = pair.parentNode.querySelector(".hover");
    pair.querySelectorAll(".chip").forEach(function (other) {
      other.classList.toggle("on", on && other.dataset.i === chip.dataset.i);
    });
    if (said) { said.textContent = on ? "#" + chip.dataset.i + " · " + chip.title : said.dataset.empty; }
  }
  ["mouseover", "mouseout"].forEach(function (event) {
    document.addEventListener(event, function (what) {
      var chip = what.target.closest && what.target.closest(".pair .chip");
      if (chip) { lit(chip, event === "mouseover"); }
    });
  });

  document.querySelectorAll(".slope").forEach(function (slope) {
    ["mouseover", "mouseout"].forEach(function (event) {
      slope.addEventListener(event, function (what) {
        var item = what.target.closest("[data-i]");
        if (!item) { return; }
        slope.querySelectorAll("[data-i]").forEach(function (other) {
          other.classList.toggle("on", event === "mouseover" && other.dataset.i === item.dataset.i);
        });
      });
    });
  });

  document.querySelectorAll(".tools").forEach(function (tools) {
    var list = document.getElementById(tools.dataset.list);
    var box = tools.querySelector("input[type=search]");
    var only = tools.querySelector("input[type=checkbox]");
    var shown = tools.querySelector("output");
    function apply() {
      var wanted = box.value.trim().toLowerCase(), found = 0;
      list.querySelectorAll("details.slate").forEach(function (slate) {
        var fits = slate.textContent.toLowerCase().indexOf(wanted) >= 0;
        slate.hidden = !fits || (only.checked && slate.dataset.moved === "0");
        if (!slate.hidden) { found += 1; }
      });
      shown.textContent = found + (found === 1 ? " slate" : " slates");
    }
    box.addEventListener("input", apply);
    only.addEventListener("change", apply);
    apply();
  });

  var opened = [];
  window.addEventListener("beforeprint", function () {
    opened = Array.from(document.querySelectorAll("details:not([open])")).slice(0, 40);
    opened.forEach(function (part) { part.open = true; });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (part) { part.open = false; });
  });
})();
