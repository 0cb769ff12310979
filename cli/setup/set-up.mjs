/** Brings this clone to where its commands can run; does nothing when it is there already. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { withLock } from './lock.mjs';
import { installNodePackages, nodePackagesAreCurrent } from './node-packages.mjs';
import { places } from './places.mjs';
import { step } from './progress.mjs';
import { installPython, makeEnvironment, pythonIsCurrent } from './python-environment.mjs';
import { checkMachine } from './requirements.mjs';

/** @param {{ develop: boolean, python?: boolean }} options develop adds what tests and checks need; without python only npm packages */
export async function setUp({ develop, python = true }) {
  const groups = python ? (develop ? ['run', 'develop'] : ['run']) : [];
  const isCurrent = () => nodePackagesAreCurrent() && groups.every(pythonIsCurrent);
  if (isCurrent()) return;
  mkdirSync(places.logs, { recursive: true });
  await withLock(
    places.lock,
    async () => {
      // The one we waited for may have done it all.
      if (!isCurrent()) await install(groups);
    },
    sayThatWeWait,
  );
}

async function install(groups) {
  writeFileSync(
    places.log,
    `set-up of ${groups.join(' and ') || 'npm packages'}, ${new Date().toISOString()}\n`,
  );
  const machine = checkMachine();
  const about = `Node ${process.versions.node}, Python ${machine.python.version.join('.')} (${machine.python.path})`;
  appendFileSync(places.log, `${about}${machine.uv ? ', uv' : ''}\n`);
  process.stderr.write(`Setting up with ${about}. The log: ${places.log}\n`);
  if (!nodePackagesAreCurrent()) await step('npm packages', installNodePackages);
  const missing = groups.filter((group) => !pythonIsCurrent(group));
  if (missing.length === 0) return;
  await step('Python environment', (progress) => makeEnvironment(machine, progress));
  // Made anew it lacks both; asked again, because only now it is certain.
  for (const group of groups.filter((one) => !pythonIsCurrent(one))) {
    const title =
      group === 'run' ? 'Python packages (PyTorch, emulator)' : 'Python packages for tests and checks';
    await step(title, (progress) => installPython(group, machine, progress));
  }
}

function sayThatWeWait(holder) {
  process.stderr.write(`Another set-up (process ${holder}) is at work here; waiting for it …\n`);
}
