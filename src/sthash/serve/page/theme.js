// Theme: light, dark, or that of the system. Not a module, so that it runs before the first paint.
(() => {
  const THEMES = ["system", "light", "dark"];
  const root = document.documentElement;

  function stored() {
    try {
      return localStorage.getItem("sthash-theme");
    } catch {
      return null; // the browser may forbid storage
    }
  }

  function apply(theme) {
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.setAttribute("aria-label", `Theme: ${theme}`);
    if (button) button.title = button.getAttribute("aria-label");
    root.dispatchEvent(new Event("themechange"));
  }

  const first = stored();
  apply(THEMES.includes(first) ? first : "system");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(root.dataset.theme));
  document.addEventListener("DOMContentLoaded", () => {
    apply(root.dataset.theme);
    document.getElementById("theme").addEventListener("click", () => {
      const next = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
      try {
        localStorage.setItem("sthash-theme", next);
      } catch {
        // The choice is then lost with the page.
      }
      apply(next);
    });
  });
})();
