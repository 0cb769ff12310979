/** Brings this clone to where its commands can run. Does nothing when it is there already. */
import { installNodePackages, installPython, nodePackagesAreCurrent, pythonIsCurrent } from './install.mjs';
import { withLock } from './lock.mjs';
import { checkMachine } from './machine.mjs';
import { places } from './places.mjs';
import { step } from './program.mjs';

const say = (text) => process.stderr.write(`${text}\n`);

/** @param {{ develop: boolean, python?: boolean }} options develop adds what tests and checks need; without python only npm packages */
export async function setUp({ develop, python = true }) {
  const group = develop ? 'develop' : 'run';
  const isPythonCurrent = () => !python || pythonIsCurrent(group);
  const install = async () => {
    // The set-up that this one waited for may have done it all.
    if (nodePackagesAreCurrent() && isPythonCurrent()) return;
    const machine = checkMachine({ needsPython: python });
    const about = machine.python
      ? `, Python ${machine.python.version.join('.')} (${machine.python.path})`
      : '';
    say(`Setting up with Node ${process.versions.node}${about}`);
    if (!nodePackagesAreCurrent()) await step('npm packages', installNodePackages);
    if (!isPythonCurrent())
      await step('Python packages (PyTorch is the largest)', () => installPython(group, machine));
  };
  if (nodePackagesAreCurrent() && isPythonCurrent()) return;
  await withLock(places.lock, install, (holder) =>
    say(`Another set-up (process ${holder}) is at work here; waiting for it …`),
  );
}
