// Runs before the page is drawn: a chosen scheme wins over the system's.
try {
  const chosen = localStorage.getItem("scheme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.scheme = chosen;
} catch {
  // Storage may be forbidden; then the system's choice stands.
}
