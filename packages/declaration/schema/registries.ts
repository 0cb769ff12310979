/** `registries`: where else the models of a pipeline are on record, with what has become of them. */
import { valueAt } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';

const sageMaker = z.strictObject({
  image: z
    .string()
    .regex(
      /^\d{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com\/\S{1,200}$/,
      'write the address of an image in Amazon ECR that serves the model',
    )
    .optional()
    .describe('An image that serves the model, so that the package can be deployed.'),
  approvalPromotes: z
    .boolean()
    .default(false)
    .describe('A model that a person approves there becomes the current one here.'),
});

const mlflow = z.strictObject({
  secret: z
    .string()
    .regex(
      /^tidewheel\/registry\/[A-Za-z0-9/_+=.@-]{1,400}$/,
      'write the name of a secret in Secrets Manager that begins with tidewheel/registry/',
    )
    .optional()
    .describe(
      'A secret that holds {"url": …} with a token, or username and password. Default: MLFLOW_TRACKING_URI of training.environment.',
    ),
  model: z
    .string()
    .regex(/^[A-Za-z0-9_. -]{1,250}$/, 'write 1 to 250 letters, digits, spaces and _ . -')
    .optional()
    .describe('The registered model. Default: the name of the pipeline.'),
});

export const registriesSchema = z
  .strictObject({ sagemaker: sageMaker.optional(), mlflow: mlflow.optional() })
  .optional()
  .describe('Registries that the models of its runs are handed over to.');

interface Declared {
  readonly training?: unknown;
  readonly promote?: unknown;
  readonly registries?: unknown;
}

/** Without TLS beside a local region alone. */
function isServer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && hostname === '127.0.0.1');
}

/** Reads what other rules have refused too, so a field may be of any type. */
export function registryProblems({ training, promote, registries }: Declared) {
  const problems: { readonly path: string[]; readonly message: string }[] = [];
  if (registries === undefined) return problems;
  if (promote === undefined)
    problems.push({
      path: ['promote'],
      message: 'says which models go on record, and registries needs it: declare it, such as byHand',
    });
  const declared = valueAt(training, ['environment', 'MLFLOW_TRACKING_URI']);
  const server = typeof declared === 'string' ? declared : 'missing';
  const isAlone = valueAt(registries, ['mlflow']) !== undefined && !isNamed(registries);
  if (isAlone && !isServer(server))
    problems.push({
      path: ['registries', 'mlflow'],
      message: `needs a tracking server, and MLFLOW_TRACKING_URI of training.environment is ${server}: write https://… there, or name a secret that holds {"url": …}`,
    });
  return problems;
}

const isNamed = (registries: unknown): boolean => valueAt(registries, ['mlflow', 'secret']) !== undefined;
