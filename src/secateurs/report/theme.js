"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.textContent = isDark() ? "☀ Light" : "☾ Dark";
    button.setAttribute("aria-pressed", String(isDark()));
    root.dispatchEvent(new Event("themechange"));
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  system.addEventListener("change", show);
  show();
})();
