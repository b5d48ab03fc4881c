// Runs before the page is drawn: the chosen scheme takes precedence over the system's.
try {
  const chosen = localStorage.getItem("scheme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.scheme = chosen;
} catch {
  // Storage is blocked: the system's scheme applies.
}
