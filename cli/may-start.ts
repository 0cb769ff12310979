/** Refuses what `npm start` would refuse, before set-up installs the packages of Python. */
import { runCommand } from '@tidewheel/kit/command-line.ts';
import { START_HELP } from './setup/start-options.mjs';
import { readyToStart } from './start/ready.ts';

await runCommand(START_HELP, async (args) => {
  await readyToStart(args);
  return 0;
});
