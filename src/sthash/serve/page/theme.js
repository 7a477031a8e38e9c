// Light, dark, or as the system has it. Not a module, so that it runs before anything is painted.
(() => {
  const THEMES = ["system", "light", "dark"];
  const root = document.documentElement;

  function stored() {
    try {
      return localStorage.getItem("sthash-theme");
    } catch {
      return null; // storage may be forbidden
    }
  }

  function apply(theme) {
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.setAttribute("aria-label", `Theme: ${theme === "system" ? "as the system" : theme}`);
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
        // The choice then lasts as long as the page.
      }
      apply(next);
    });
  });
})();
