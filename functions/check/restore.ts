/** Brings back what was changed by hand: a deployment of the same template leaves it as it is. */

/** https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/drift-aware-change-sets.html */
export const restoring = (stage: string): string =>
  `undo what was changed by hand: aws cloudformation create-change-set --stack-name tidewheel-${stage} --change-set-name restore --use-previous-template --deployment-mode REVERT_DRIFT --capabilities CAPABILITY_IAM CAPABILITY_NAMED_IAM, then aws cloudformation execute-change-set --stack-name tidewheel-${stage} --change-set-name restore (npx osls deploy skips a template that has not changed)`;
