/**
 * uPlot hands navigator.language to Intl when it is loaded. Chromium takes the name from the environment, and Intl throws
 * on what LANG=C makes of it (`en-US@posix`). Loaded before uPlot.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: navigator.language.split('@')[0] ?? 'en' });
}
