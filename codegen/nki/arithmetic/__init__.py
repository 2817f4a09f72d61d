"""Operations on tiles that lie alike: what each engine computes, and what is composed of it."""
