import type { Feature } from '../../feature.ts';
import { addDoctorCommand } from './cli/doctor.ts';

export const doctorFeature: Feature = {
  name: 'doctor',
  addCommands: addDoctorCommand,
};
