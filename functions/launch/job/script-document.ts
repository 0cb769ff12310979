/**
 * How the agent is to start the script, as the declaration says it: one JSON document, in as many hyperparameters as it
 * needs: SageMaker's Environment has values of at most 512 characters. The declaration bounds it to seven, which is what 80
 * hyperparameters of the user's own and those of the service leave of SageMaker's 100.
 */
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { hyperparameterPieces } from './hyperparameters.ts';

type Training = Pipeline['training'];
type Limits = Partial<Pick<Pipeline['limits'], 'steps'>>;

/** The agent joins `tidewheel_script`, `tidewheel_script_2` and so on. */
const NAME = 'tidewheel_script';

/** The fields are read by `training/agent/tidewheel_agent/configuration/script_document.py`. */
function scriptDocument(training: Training, { steps }: Limits) {
  const { command, arguments: given, environment, workingDirectory, checkpoint } = training;
  const instrument = training.instrument === false ? false : undefined;
  const document = {
    command,
    arguments: given,
    environment,
    workingDirectory,
    checkpoint,
    instrument,
    steps,
  };
  return Object.values(document).some((value) => value !== undefined) ? JSON.stringify(document) : undefined;
}

export function scriptParameters(training: Training, limits: Limits = {}): Record<string, string> {
  const document = scriptDocument(training, limits);
  const pieces = document === undefined ? [] : hyperparameterPieces(document);
  return Object.fromEntries([
    ...pieces.map((piece, index) => [index === 0 ? NAME : `${NAME}_${index + 1}`, piece] as const),
    ...(training.progress === undefined
      ? []
      : [['tidewheel_progress_pattern', training.progress.pattern] as const]),
  ]);
}
