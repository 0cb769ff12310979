/** Hyperparameters as SageMaker's Python SDK sends them: every value is JSON, in ASCII. */
import type { Hyperparameter, Pipeline } from '@tidewheel/declaration/pipeline.ts';

/** Longest value in the API's model. */
export const MAXIMUM_VALUE = 2_500;
export const MAXIMUM_HYPERPARAMETERS = 100;

/**
 * Like Python's json.dumps: strings keep their quotes, and characters outside ASCII become \uXXXX. This also satisfies
 * the API's pattern `.*`, whose dot excludes U+0085, U+2028, U+2029 and the newline.
 */
function encodeHyperparameter(value: Hyperparameter | readonly string[]): string {
  if (typeof value === 'object' && 'number' in value) return value.number;
  return JSON.stringify(value).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function encodeHyperparameters(
  values: Readonly<Record<string, Hyperparameter | readonly string[]>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, encodeHyperparameter(value)]));
}

/** Divides a text into pieces, each of which fits a hyperparameter as JSON. */
function hyperparameterPieces(text: string): string[] {
  const pieces: string[] = [];
  let piece = '';
  let length = 2;
  for (const character of text) {
    const more = encodeHyperparameter(character).length - 2;
    if (length + more > MAXIMUM_VALUE) {
      pieces.push(piece);
      piece = '';
      length = 2;
    }
    piece += character;
    length += more;
  }
  return [...pieces, piece];
}

// How the agent is to start the script, as the declaration says it: one JSON document, in as many hyperparameters as it
// needs: SageMaker's Environment has values of at most 512 characters. The declaration bounds it to seven, which is what 80
// hyperparameters of the user's own and those of the service leave of SageMaker's 100.

type Training = Pipeline['training'];
type Evaluation = Pick<NonNullable<Pipeline['evaluation']>, 'entryPoint' | 'arguments' | 'maximumSeconds'> & {
  /** Digest of the model in use. */
  readonly current?: string | undefined;
  readonly isAlone?: boolean;
};
type Limits = Partial<Pick<Pipeline['limits'], 'steps'>>;

/** The agent joins `tidewheel_script`, `tidewheel_script_2` and so on. */
const NAME = 'tidewheel_script';

/** The fields are read by `training/agent/tidewheel_agent/configuration/script_document.py`. */
function scriptDocument(training: Training, { steps }: Limits, evaluation: Evaluation | undefined) {
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
    evaluation,
  };
  return Object.values(document).some((value) => value !== undefined) ? JSON.stringify(document) : undefined;
}

export function scriptParameters(
  training: Training,
  limits: Limits = {},
  evaluation?: Evaluation,
): Record<string, string> {
  const document = scriptDocument(training, limits, evaluation);
  const pieces = document === undefined ? [] : hyperparameterPieces(document);
  return Object.fromEntries([
    ...pieces.map((piece, index) => [index === 0 ? NAME : `${NAME}_${index + 1}`, piece] as const),
    ...(training.progress === undefined
      ? []
      : [['tidewheel_progress_pattern', training.progress.pattern] as const]),
  ]);
}
