/** The local SageMaker by itself: `node emulators/sagemaker/cli.ts --help`. */
import { once } from 'node:events';
import { join } from 'node:path';
import { printable, readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
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

const schema = z.object({
  endpoint: z.url('write it as http://127.0.0.1:4566'),
  python: z.string('name a Python 3.10 or newer'),
  port: wholeNumber(0, 65_535).default(0),
  'access-key': z.string().default(join('.tidewheel', ACCESS_KEY_FILE)),
  state: z.string().default('.tidewheel/sagemaker'),
  region: z.string().default('us-east-1'),
  account: z.string().default('000000000000'),
  grace: z.coerce.number('give seconds').positive('give seconds above 0').default(120),
});

await runCommand(HELP, async (args) => {
  const { values } = readCommandLine(args, { schema });
  const server = await startLocalSageMaker({
    port: values.port,
    credentials: await accessKeyIn(values['access-key']),
    stateDirectory: values.state,
    awsEndpointUrl: values.endpoint,
    region: values.region,
    accountId: values.account,
    market: unlimited,
    pythonPath: values.python,
    // It has no VPC to look in: every subnet is one of the first zone.
    subnetZone: async () => 'use1-az1',
    graceSeconds: values.grace,
    log: (line) => console.log(printable(line)),
  });
  if (!(await canShowOptMl(values.python, values.state))) console.log(NOT_SHOWN);
  console.log(`SageMaker answers at ${server.url}`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  console.log('stopping: hosts have a few seconds to save');
  await server.close();
  return 0;
});
