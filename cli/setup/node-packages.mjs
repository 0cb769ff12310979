/** The npm packages: installed when they differ from package-lock.json. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { run, textOf } from './command.mjs';
import { places } from './places.mjs';

/**
 * npm writes node_modules/.package-lock.json last, so its absence shows an installation that was cut short, and its
 * content what is there, whoever installed it.
 */
export function nodePackagesAreCurrent({
  packageLock = places.packageLock,
  nodeModules = places.nodeModules,
} = {}) {
  const wanted = packagesOf(textOf(packageLock));
  const present = packagesOf(textOf(path.join(nodeModules, '.package-lock.json')));
  if (!wanted || !present || !existsSync(path.join(nodeModules, '.bin', 'node'))) return false;
  const missing = Object.entries(wanted).some(([name, entry]) => name && !entry.optional && !present[name]);
  const other = Object.entries(present).some(([name, entry]) => wanted[name]?.version !== entry.version);
  return !missing && !other;
}

const packagesOf = (text) => {
  try {
    return text === undefined ? undefined : JSON.parse(text).packages;
  } catch {
    return undefined;
  }
};

export const installNodePackages = (progress) =>
  run(
    ['npm', 'ci', '--loglevel=error', '--no-audit', '--no-fund'],
    'Is the network there? Run the command again: it goes on where it can.',
    { progress },
  );
