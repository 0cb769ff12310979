/** `tidewheel apply`: the declaration and the code of a folder go to the deployment. */
import { declarationAt } from '../command/declared.ts';
import { defineVerb, flag } from '../command/verb.ts';
import { withBucket } from '../dataset/open.ts';
import { appliedText, apply } from '../upload/apply.ts';

export const verb = defineVerb({
  name: 'apply',
  summary: 'declare the pipeline of this folder, and upload its code',
  about: `
The code goes to <pipeline>/source/, which becomes equal to the folder x-local.source of the declaration with
x-local.dependencies beside it, without the data, secrets and hidden folders. A change takes effect with the next run;
"tidewheel retry" takes it up, too. FILE is a declaration or its folder.`,
  positionals: ['FILE?'],
  options: {
    'dry-run': flag('print what would change, and do nothing'),
  },
  examples: [
    ['', 'tidewheel.yaml of this folder'],
    ['--dry-run --stage prod', 'what would change there'],
  ],
  run: async ({ values, positionals: [file] }, context) => {
    const declaration = await declarationAt(context.folder, file);
    const [{ bucket }, api] = [await context.deployment(), await context.api()];
    const dryRun = values['dry-run'];
    const applied = await withBucket(bucket, (store) => apply({ api, store, declaration, dryRun }));
    return context.answer(applied, () => appliedText(applied, dryRun));
  },
});
