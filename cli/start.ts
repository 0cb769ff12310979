/** `npm start`: the region, the demo, and then whatever is dropped. Ends on Ctrl-C, or with `--once` after the first report. */
import { runCommand } from '@tidewheel/kit/command-line.ts';
import { START_HELP } from './setup/start-options.mjs';
import { readyToStart } from './start/ready.ts';

await runCommand(START_HELP, async (args) => {
  const chosen = await readyToStart(args);
  // Only now: it takes a second to load, and a refusal should not.
  const { runRegion } = await import('./start/run-region.ts');
  return runRegion(chosen);
});
