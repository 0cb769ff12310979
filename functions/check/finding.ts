/** What a check of a deployment found: one line of its list. */
import * as z from 'zod';

/** Such as the check `training quotas` of the field `digits: compute.instanceTypes`. */
const place = { check: z.string(), field: z.string() };
type Place = Readonly<z.output<z.ZodObject<typeof place>>>;

/** What is wrong, and what to do. */
const trouble = { message: z.string(), remedy: z.string() };
type Trouble = Readonly<z.output<z.ZodObject<typeof trouble>>> & { readonly value: string };

/** `limited` works, but slower or in fewer places. `notSeen` is no statement about the account. */
export const findingSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('passed'), ...place, value: z.string() }),
  z.object({ kind: z.literal('limited'), ...place, value: z.string(), ...trouble }),
  z.object({ kind: z.literal('fails'), ...place, value: z.string(), ...trouble }),
  z.object({ kind: z.literal('notSeen'), ...place, ...trouble }),
]);
export type Finding = Readonly<z.output<typeof findingSchema>>;

/** What AWS answered, or why it did not. */
export type AwsAnswer<T> =
  | { readonly kind: 'seen'; readonly value: T }
  | {
      readonly kind: 'refused';
      /** In IAM's words, such as lambda:GetAccountSettings. */
      readonly action: string;
      /** Whether the credentials lack the right. Otherwise AWS could not be reached or answered with an error. */
      readonly isDenied: boolean;
      readonly why: string;
    };

/** The judgement of what was seen. A look that was refused becomes one finding that says so. */
export function judged<T>(
  place: Place,
  look: AwsAnswer<T>,
  judge: (value: T) => Finding | readonly Finding[],
): readonly Finding[] {
  if (look.kind === 'seen') return [judge(look.value)].flat();
  const { action, why, isDenied } = look;
  const remedy = isDenied
    ? `allow ${action} for the credentials of the check, or look by hand`
    : 'check the network, AWS_REGION and AWS_ENDPOINT_URL, and run the check again';
  return [{ ...place, kind: 'notSeen', message: `${action}: ${why}`, remedy }];
}

export const passed = (place: Place, value: string): Finding => ({ ...place, kind: 'passed', value });

export const fails = (place: Place, trouble: Trouble): Finding => ({ ...place, kind: 'fails', ...trouble });
export const limited = (place: Place, trouble: Trouble): Finding => ({
  ...place,
  kind: 'limited',
  ...trouble,
});

/** At most `most` of the names, and how many more there are. */
export const someOf = (names: readonly string[], most = 6): string => {
  const more = names.length - most;
  return more > 0 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ');
};

// Brings back what was changed by hand: a deployment of the same template leaves it as it is.

/** https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/drift-aware-change-sets.html */
export const restoring = (stage: string): string =>
  `undo what was changed by hand: aws cloudformation create-change-set --stack-name tidewheel-${stage} --change-set-name restore --use-previous-template --deployment-mode REVERT_DRIFT --capabilities CAPABILITY_IAM CAPABILITY_NAMED_IAM, then aws cloudformation execute-change-set --stack-name tidewheel-${stage} --change-set-name restore (npx osls deploy skips a template that has not changed)`;
