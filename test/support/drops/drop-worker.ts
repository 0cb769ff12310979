/** Uploads a folder as `tidewheel drop` does, in a process that can be killed: `drop-worker.ts BUCKET PIPELINE FOLDER bundle|plain`. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { openJournal } from '../../../cli/serve/taken-files.ts';
import { groupFiles } from '../../../cli/upload/bundling.ts';
import { dropBundles } from '../../../cli/upload/drop-bundles.ts';
import { dropFiles } from '../../../cli/upload/drop-folder.ts';
import { dataFilesBelow } from '../../../cli/upload/local-files.ts';
import { openBlobStore } from '../../../functions/aws/s3/open-store.ts';

const [bucket = '', pipeline = '', folder = '', how = 'bundle', bundleBytes] = process.argv.slice(2);
await using opened = await openBlobStore({ bucket });
const { files } = await dataFilesBelow(folder);
const journal = await openJournal({ environment: process.env, of: [bucket, pipeline, folder] });
const prefix = bucketKeys.incoming(pipeline);
const options = {
  store: opened.store,
  journal,
  signal: new AbortController().signal,
  onProgress: () => undefined,
  lanes: 32,
};
const groups =
  how === 'bundle'
    ? groupFiles(files, {
        prefix,
        apart: [],
        shuffle: true,
        ...(bundleBytes !== undefined && { bundleBytes: Number(bundleBytes) }),
      })
    : { bundles: [], plain: files };
const isWaiting = (file: (typeof files)[number]): boolean => !journal.has(file);
const bundles = groups.bundles.map((bundle) => bundle.filter(isWaiting));
const bundled = await dropBundles({ ...options, pipeline, bundles });
const plain = await dropFiles({ ...options, prefix, files: groups.plain.filter(isWaiting) });
process.stdout.write(`${bundled.files + plain.files} files sent\n`);
process.exitCode = bundled.failed.length + plain.failed.length > 0 ? 1 : 0;
