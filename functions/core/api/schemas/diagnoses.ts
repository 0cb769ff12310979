/** What the API says of the doctor's verdicts (docs/doctor.md). */
import { shownVerdictSchema } from '../../doctor/verdict.ts';
import { diagnosisSchema } from '../../runs/diagnosis.ts';
import { list } from '../../shared/fields.ts';

export const diagnosis = diagnosisSchema.extend({ verdicts: list(shownVerdictSchema) });
