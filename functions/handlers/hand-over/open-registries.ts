/** The registries that a pipeline declares. */

import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { mlflowRegistry } from '../../aws/registries/mlflow-registry.ts';
import { runOfPackage, sageMakerRegistry } from '../../aws/registries/sagemaker-registry.ts';
import { type SecretAddress, secretAddress } from '../../aws/shared/secret-address.ts';
import type { HandOverDeps, ModelRegistry } from '../../run/models/hand-over.ts';

interface Clients {
  readonly sageMaker: () => Parameters<typeof sageMakerRegistry>[0];
  readonly secrets: () => Parameters<typeof secretAddress>[0];
  readonly fetch: typeof fetch;
  /** Begins the names of model package groups. */
  readonly stack: string;
}

export const openRegistries = (clients: Clients): Pick<HandOverDeps, 'registriesOf' | 'runOfPackage'> => ({
  registriesOf: (pipeline) => registriesOf(clients, pipeline),
  runOfPackage: (arn) => runOfPackage(clients.sageMaker(), arn),
});

function registriesOf(
  { sageMaker, secrets, fetch, stack }: Clients,
  { name, registries = {}, training }: Pipeline,
): readonly ModelRegistry[] {
  const { sagemaker, mlflow } = registries;
  const { secret = '', model = name } = mlflow ?? {};
  const environment = training.environment ?? {};
  return [
    ...(sagemaker === undefined
      ? []
      : [sageMakerRegistry(sageMaker(), { group: `${stack}-${name}`, declared: sagemaker })]),
    ...(mlflow === undefined
      ? []
      : [
          mlflowRegistry({
            name: model,
            fetch,
            address: secret || environment['MLFLOW_TRACKING_URI'] || '',
            server: async () => (secret === '' ? declared(environment) : secretAddress(secrets(), secret)),
          }),
        ]),
  ];
}

/** What the scripts of the pipeline have. */
const declared = (environment: Readonly<Record<string, string>>): SecretAddress => ({
  url: new URL(environment['MLFLOW_TRACKING_URI'] ?? ''),
  token: environment['MLFLOW_TRACKING_TOKEN'],
  username: environment['MLFLOW_TRACKING_USERNAME'],
  password: environment['MLFLOW_TRACKING_PASSWORD'],
});
