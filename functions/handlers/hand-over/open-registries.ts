/** The registries that a pipeline declares. */

import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { mlflowRegistry } from '../../aws/registries/mlflow-registry.ts';
import { runOfPackage, sageMakerRegistry } from '../../aws/registries/sagemaker-registry.ts';
import { type SecretAddress, secretAddress } from '../../aws/shared/secret-address.ts';
import type { ModelRegistry } from '../../run/models/hand-over.ts';

interface Clients {
  readonly sageMaker: () => Parameters<typeof sageMakerRegistry>[0];
  readonly secrets: () => Parameters<typeof secretAddress>[0];
  readonly fetch: typeof fetch;
  /** Begins the names of model package groups. */
  readonly stack: string;
}

export const openRegistries = ({ sageMaker, secrets, fetch, stack }: Clients) => ({
  runOfPackage: (arn: string) => runOfPackage(sageMaker(), arn),
  registriesOf: ({ name, registries = {}, training: { environment = {} } }: Pipeline) => {
    const { sagemaker, mlflow } = registries;
    const opened: ModelRegistry[] = [];
    if (sagemaker !== undefined)
      opened.push(sageMakerRegistry(sageMaker(), { group: `${stack}-${name}`, declared: sagemaker }));
    if (mlflow !== undefined) {
      const { secret, model } = mlflow;
      const address = secret ?? environment['MLFLOW_TRACKING_URI'] ?? '';
      const server = async () =>
        secret === undefined ? declared(environment) : secretAddress(secrets(), secret);
      opened.push(mlflowRegistry({ name: model ?? name, fetch, address, server }));
    }
    return opened;
  },
});

/** What the scripts of the pipeline have. */
const declared = (environment: Readonly<Record<string, string>>): SecretAddress => ({
  url: new URL(environment['MLFLOW_TRACKING_URI'] ?? ''),
  token: environment['MLFLOW_TRACKING_TOKEN'],
  username: environment['MLFLOW_TRACKING_USERNAME'],
  password: environment['MLFLOW_TRACKING_PASSWORD'],
});
