/** The local SageMaker by itself: `node emulators/sagemaker/cli.ts --help`. */
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { printable } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { ACCESS_KEY_FILE, accessKeyIn } from '../access/access-key.ts';
import type { CapacityMarket } from '../spot-market/model/capacity-source.ts';
import { canShowOptMl, NOT_SHOWN } from './hosts/opt-ml.ts';
import { startLocalSageMaker } from './server.ts';

const HELP = `Runs training jobs on this machine behind SageMaker's API.

  node emulators/sagemaker/cli.ts --endpoint http://127.0.0.1:4566 --python .venv/bin/python

  --endpoint URL         where S3, EventBridge and CloudWatch answer (MiniStack)    required
  --python PATH          Python 3.10 or newer, first on the hosts' PATH             required
  --port N               0 takes a free one                                         default 0
  --access-key FILE      the key that --endpoint answers; made if it is not there  default .tidewheel/access-key.json
  --state DIR            jobs and their hosts' folders                              default .tidewheel/sagemaker
  --region NAME                                                                     default us-east-1
  --account ID           twelve digits                                              default 000000000000
  --grace SECONDS        between SIGTERM and SIGKILL                                default 120
  --help

Capacity is unlimited here and never reclaimed; \`npm start\` runs it with a Spot market.
Then, with that key in the environment: aws sagemaker list-training-jobs --endpoint-url <the URL that is printed>
`;

const unlimited = {
  acquire: (request) => ({
    zoneId: request.zoneIds?.[0] ?? 'use1-az1',
    onReclaim: () => {},
    checkpointSynced: () => {},
    release: () => {},
  }),
  onCapacity: () => () => {},
} satisfies CapacityMarket;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      endpoint: { type: 'string' },
      python: { type: 'string' },
      port: { type: 'string', default: '0' },
      'access-key': { type: 'string', default: join('.tidewheel', ACCESS_KEY_FILE) },
      state: { type: 'string', default: '.tidewheel/sagemaker' },
      region: { type: 'string', default: 'us-east-1' },
      account: { type: 'string', default: '000000000000' },
      grace: { type: 'string', default: '120' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  if (values.endpoint === undefined || values.python === undefined) {
    throw new Error('give --endpoint and --python; --help explains them');
  }
  const server = await startLocalSageMaker({
    port: Number(values.port),
    credentials: await accessKeyIn(values['access-key']),
    stateDirectory: values.state,
    awsEndpointUrl: values.endpoint,
    region: values.region,
    accountId: values.account,
    market: unlimited,
    pythonPath: values.python,
    // It has no VPC to look in: every subnet is one of the first zone.
    subnetZone: async () => 'use1-az1',
    graceSeconds: Number(values.grace),
    log: (line) => console.log(printable(line)),
  });
  if (!(await canShowOptMl(values.python, values.state))) console.log(NOT_SHOWN);
  console.log(`SageMaker answers at ${server.url}`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  console.log('stopping: hosts have a few seconds to save');
  await server.close();
}

try {
  await main();
} catch (error) {
  console.error(`local SageMaker: ${printable(messageOf(error))}`);
  process.exitCode = 1;
}
