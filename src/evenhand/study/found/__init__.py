"""What a finished run says: measures, decisions, readers, findings."""
