/** `npm run dataset`: lists, pins, verifies, compacts and prunes the generations of a dataset. */
import { runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import { datasetCommand, USAGE } from './dataset-command-line.ts';

await runCommand(USAGE, datasetCommand);
