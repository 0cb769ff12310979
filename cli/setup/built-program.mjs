/** The command line as this clone's sources have it: built again where one of them has changed. */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { withLock } from './lock.mjs';
import { SetupError } from './machine.mjs';
import { places } from './places.mjs';
import { runQuietly } from './program.mjs';

/** What build-program.ts writes beside the program: its first file, and each file that went into it as it was then. */
function readRecord() {
  try {
    return JSON.parse(readFileSync(path.join(places.program, 'record.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

const isUnchanged = ([file, size, changed]) => {
  const now = statSync(path.join(places.root, file), { throwIfNoEntry: false });
  return now !== undefined && now.size === size && now.mtimeMs === changed;
};

/** @returns {string | undefined} the program's first file, if what went into it is as it was; npm's packages, too */
export function currentProgram() {
  const record = readRecord();
  return record && record.inputs.every(isUnchanged) ? record.entry : undefined;
}

/** @returns {Promise<string>} @throws {SetupError} */
export function builtProgram() {
  const build = async () => {
    const current = currentProgram();
    if (current) return current;
    const script = path.join(places.root, 'cli', 'build-program.ts');
    const { code, output } = await runQuietly([places.node, script, '--clone', places.program]);
    if (code !== 0) throw new SetupError(`The command line cannot be built from these sources:\n${output}`);
    return readRecord().entry;
  };
  return withLock(places.lock, build, () => {});
}
