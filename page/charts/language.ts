/**
 * uPlot hands navigator.language to Intl when it is loaded. Chromium takes the name from the environment, and Intl throws
 * on what LANG=C makes of it (`en-US@posix`). Loaded before uPlot.
 */
function isKnown(language: string): boolean {
  try {
    return new Intl.NumberFormat(language).format(0) !== '';
  } catch {
    return false;
  }
}

if (!isKnown(navigator.language))
  Object.defineProperty(navigator, 'language', { value: navigator.language.split('@')[0] ?? 'en' });
