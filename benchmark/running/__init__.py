"""What does the runs: a session, its scheduler, pools of workers, and what they tell."""
