const { mkdtempSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/**
 * A temporary folder for all of osls, removed when it ends. serverless-esbuild copies each function into a folder there,
 * and removes it as if it were empty, so that every packaging would leave all functions behind.
 */
function ownTemporaryFolder() {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'tidewheel-package-'));
  for (const name of ['TMPDIR', 'TMP', 'TEMP']) process.env[name] = folder;
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
}

module.exports = { ownTemporaryFolder };
