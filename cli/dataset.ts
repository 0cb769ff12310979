/** The versions of a dataset: `npm run dataset -- --help` says what can be done with them. */
import { runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import { datasetCommand, USAGE } from './dataset-command-line.ts';

await runCommand(USAGE, datasetCommand);
